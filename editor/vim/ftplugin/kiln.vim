setlocal commentstring=#\ %s expandtab shiftwidth=2 softtabstop=2
