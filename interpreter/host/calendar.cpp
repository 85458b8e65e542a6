// Times as calendars and clocks show them; the module `datetime` makes objects of them.
#include <cmath>
#include <ctime>
#include <string>

#include <fmt/format.h>

#include "interpreter/vm/arguments.h"
#include "interpreter/vm/tables.h"

namespace kiln::interp {
namespace {

using namespace host;

std::tm parts_of(double seconds, bool utc) {
  const double whole = std::floor(seconds);
  if (!(std::abs(whole) < 1e14)) raise("ValueError", fmt::format("{} s is not a time", repr_of(seconds)));
  const auto time = static_cast<std::time_t>(whole);
  std::tm parts{};
  if ((utc ? gmtime_r(&time, &parts) : localtime_r(&time, &parts)) == nullptr)
    raise("ValueError", fmt::format("{} s is not a time", repr_of(seconds)));
  return parts;
}

// Year, month, day, hour, minute, second with its fraction, the day of the week from Monday 0, the seconds by
// which the clock is before that of UTC.
Value calendar_parts(Interpreter&, std::span<Value> a) {
  const double seconds = float_argument(a[0], "seconds");
  const std::tm parts = parts_of(seconds, bool_argument(a[1], "utc"));
  const double fraction = seconds - std::floor(seconds);
  return tuple_value({Value(std::int64_t{parts.tm_year} + 1900), Value(parts.tm_mon + 1),
                      Value(parts.tm_mday), Value(parts.tm_hour), Value(parts.tm_min),
                      Value(parts.tm_sec + fraction), Value((parts.tm_wday + 6) % 7),
                      Value(std::int64_t{parts.tm_gmtoff})});
}

Value calendar_seconds(Interpreter&, std::span<Value> a) {
  std::tm parts{};
  parts.tm_year = static_cast<int>(int_argument(a[0], "year") - 1900);
  parts.tm_mon = static_cast<int>(int_argument(a[1], "month") - 1);
  parts.tm_mday = static_cast<int>(int_argument(a[2], "day"));
  parts.tm_hour = static_cast<int>(int_argument(a[3], "hour"));
  parts.tm_min = static_cast<int>(int_argument(a[4], "minute"));
  const double seconds = float_argument(a[5], "second");
  parts.tm_isdst = -1;
  const std::time_t time = bool_argument(a[6], "utc") ? timegm(&parts) : mktime(&parts);
  return static_cast<double>(time) + seconds;
}

Value calendar_text(Interpreter&, std::span<Value> a) {
  const std::tm parts = parts_of(float_argument(a[0], "seconds"), bool_argument(a[2], "utc"));
  const std::string& format = text_argument(a[1], "format");
  if (format.empty()) return Value("");
  std::string text(4 * format.size() + 256, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &parts));
  return Value(text);
}

constexpr NativeDef kCalendarNatives[] = {
    {"calendar_parts(seconds, utc=false)",
     "Year, month, day, hour, minute, second, day of the week (Monday is 0) and seconds before UTC of a time "
     "that is "
     "counted from 1970.\n>>> calendar_parts(0, utc=true)\n(1970, 1, 1, 0, 0, 0.0, 3, 0)",
     calendar_parts},
    {"calendar_seconds(year, month, day, hour=0, minute=0, second=0.0, utc=false)",
     "The seconds from 1970 to a time of the calendar.\n>>> calendar_seconds(1970, 1, 2, utc=true)\n86400.0",
     calendar_seconds},
    {"calendar_text(seconds, format, utc=false)",
     "A time as text, by a format of C's strftime.\n>>> calendar_text(0, \"%Y-%m-%d %H:%M\", "
     "utc=true)\n'1970-01-01 "
     "00:00'",
     calendar_text},
};

}  // namespace

std::span<const NativeDef> calendar_natives() { return kCalendarNatives; }

}  // namespace kiln::interp
