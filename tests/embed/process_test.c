/* What libkiln does to the process it is in: signals, threads, several sessions. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static void wait_ms(long milliseconds) {
  const struct timespec time = {0, milliseconds * 1000000};
  nanosleep(&time, NULL);
}

static const char* kEndless = "i = 0\nwhile true { i += 1 }";

static void* interrupt_soon(void* unused) {
  (void)unused;
  wait_ms(50);
  kiln_interrupt();
  return NULL;
}

static void stops_when_asked(kiln_session* session) {
  kiln_interrupt(); /* no program runs: it stops none */
  CHECK(int_of(session, "1 + 2") == 3);
  pthread_t thread;
  pthread_create(&thread, NULL, interrupt_soon, NULL);
  CHECK(refused(kiln_eval(session, kEndless, NULL), KILN_ERROR_INTERRUPTED, ""));
  pthread_join(thread, NULL);
  CHECK(int_of(session, "3 + 4") == 7);
}

static volatile sig_atomic_t signals_seen = 0;
static void see(int signal_number) {
  (void)signal_number;
  ++signals_seen;
}

static void* signal_soon(void* target) {
  wait_ms(50);
  pthread_kill(*(pthread_t*)target, SIGINT);
  return NULL;
}

static void watches_a_signal(kiln_session* session) {
  struct sigaction own = {.sa_handler = see}, now;
  sigaction(SIGINT, &own, NULL);
  OK(kiln_watch_signal(session, SIGINT));
  pthread_t self = pthread_self(), thread;
  pthread_create(&thread, NULL, signal_soon, &self);
  CHECK(refused(kiln_eval(session, kEndless, NULL), KILN_ERROR_INTERRUPTED, ""));
  pthread_join(thread, NULL);
  CHECK(signals_seen == 1); /* the program's own handler was called as well */
  sigaction(SIGINT, NULL, &now);
  CHECK(now.sa_handler == see);
  OK(kiln_watch_signal(session, 0));
}

static void* write_soon(void* pipe_end) {
  wait_ms(50);
  const char signals[] = {SIGTERM, SIGINT};
  CHECK(write(*(int*)pipe_end, signals, sizeof signals) == sizeof signals);
  return NULL;
}

static void reads_signals_from_a_pipe(kiln_session* session) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  OK(kiln_watch_pipe(ends[0], SIGINT));
  pthread_t thread;
  pthread_create(&thread, NULL, write_soon, &ends[1]);
  CHECK(refused(kiln_eval(session, kEndless, NULL), KILN_ERROR_INTERRUPTED, ""));
  pthread_join(thread, NULL);
  close(ends[1]);
}

static void installs_no_handlers(void) {
  struct sigaction before[32], now;
  for (int each = 1; each < 32; ++each) sigaction(each, NULL, &before[each]);
  kiln_session* session = new_session();
  OK(kiln_eval(session, "fn f(x) { return (x * 2 + 1).sum() }\nfor i in range(400) { f(ones(8)) }", NULL));
  for (int each = 1; each < 32; ++each) {
    sigaction(each, NULL, &now);
    CHECK(now.sa_handler == before[each].sa_handler);
  }
  kiln_session_free(session);
}

static void* count_in_thread(void* session) {
  for (int i = 0; i < 200; ++i) OK(kiln_eval(session, "count += 1\nlist(range(10))", NULL));
  return NULL;
}

static void runs_in_several_threads(kiln_session* session) {
  kiln_session* other = new_session();
  OK(kiln_eval(session, "count = 0", NULL));
  OK(kiln_eval(other, "count = 0", NULL));
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, count_in_thread, i < 3 ? session : other);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  CHECK(int_of(session, "count") == 600);
  CHECK(int_of(other, "count") == 200);
  kiln_session_free(other);
}

static void* free_in_thread(void* value) {
  kiln_value_free(value);
  return NULL;
}

static void frees_values_while_a_program_runs(kiln_session* session) {
  kiln_value* list = value_of(session, "[1, 2, 3]");
  pthread_t runner, other;
  pthread_create(&other, NULL, interrupt_soon, NULL);
  pthread_create(&runner, NULL, free_in_thread, list);
  CHECK(refused(kiln_eval(session, kEndless, NULL), KILN_ERROR_INTERRUPTED, ""));
  pthread_join(runner, NULL);
  pthread_join(other, NULL);
}

int main(void) {
  kiln_session* session = new_session();
  installs_no_handlers();
  stops_when_asked(session);
  watches_a_signal(session);
  reads_signals_from_a_pipe(session);
  runs_in_several_threads(session);
  frees_values_while_a_program_runs(session);
  kiln_session_free(session);
  return failures != 0;
}
