autocmd BufRead,BufNewFile *.kiln setfiletype kiln
