// The page of the tenants' host: a table between its beginning and its end.
#ifndef TENANTS_PAGE_H
#define TENANTS_PAGE_H

#define PAGE_BEGIN \
    "<!doctype html><meta charset=utf-8><title>Tenants</title>" \
    "<style>body{font:16px sans-serif;margin:2em}td,th{padding:.3em 1em;text-align:left}button{margin-right:.5em}</style>" \
    "<h1>Tenants</h1><table><tr><th>tenant<th>requests<th>failed<th>last failure\n"

#define PAGE_END \
    "</table><p>" \
    "<button onclick=\"go('calc','3+4*5')\">calculate</button>" \
    "<button onclick=\"go('bars','31415926')\">count digits</button>" \
    "<button onclick=\"go('upper','hello')\">capitals</button>" \
    "<button onclick=\"go('bars','x')\">overrun</button>" \
    "<button onclick=\"go('calc','('.repeat(500000))\">recurse</button>" \
    "<button onclick=\"go('calc','3+ 4')\">spin</button>" \
    "<button onclick=\"go('notes','1')\">take a note</button>" \
    "<button onclick=\"go('notes','100')\">leak</button>" \
    "<button onclick=\"go('halves','8')\">fork-bomb</button>" \
    "<pre id=out></pre>" \
    "<script>async function go(t,b){let r=await fetch('/'+t,{method:'POST',body:b});let s=await r.text();" \
    "let p=await (await fetch('/')).text();document.querySelector('table').outerHTML=" \
    "new DOMParser().parseFromString(p,'text/html').querySelector('table').outerHTML;" \
    "document.getElementById('out').textContent=r.status+' '+s}</script>"

#endif
