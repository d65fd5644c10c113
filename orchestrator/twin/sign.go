package twin

import "divisi/internal/lazyregexp"

// sign is a pattern in the lines of one side that shows a cause. Its first group that is not empty is the detail.
type sign struct {
	cause Cause
	*lazyregexp.Regexp
}

// loopback are the addresses of the machine itself.
const loopback = `(?:127\.0\.0\.1|localhost|::1)\]?`

// signs are in the order in which they count: what names more comes first.
var signs = []sign{
	{Sanitizer, lazyregexp.New(`(?i)(?:Leak|Address|Thread|Memory)Sanitizer|\bptrace\b|PTRACE_|strace: |personality\(`)},
	{Memory, lazyregexp.New(`shm_open|/dev/shm|\bshmget\b|\bshmat\b|\bsem_open\b|(?i:shared[_ ]?memory)`)},
	{Port, lazyregexp.New(`EADDRINUSE|EADDRNOTAVAIL|(?i:address already in use|cannot assign requested address)|` +
		`(?i:\b(?:listen|bind)\b.*(?:EACCES|permission denied|not permitted))`)},
	{Service, lazyregexp.New(`(?i)(?:` + loopback + `(?:\)?,? port |[:'", ]+)(\d{2,5})\b|` + loopback + `).*refused|` +
		`(?:refused|could not connect|can't connect|failed to connect).*?(?:` +
		loopback + `(?:\)?,? port |[:'", ]+)(\d{2,5})\b|` + loopback + `)|` +
		`\bconnection ?refused|can't connect to .*server|cannot connect to the docker daemon|is the server running|` +
		`connect ENOENT \S+\.sock|(?:dial unix|connect\b.*)\S*\.(?:sock\b|s\.PGSQL).*(?:no such file|refused|denied)`)},
	{History, lazyregexp.New(`(?i)\bshallow\b|git describe|no names found|no tags can describe|unknown revision|bad revision|` +
		`ambiguous argument|not a git repository|bad object|dubious ownership|setuptools[-_.]scm|no such remote|` +
		`does not appear to be a git repository|\borigin/(?:main|master|HEAD)\b`)},
	{Cache, lazyregexp.New(`GOPROXY=off|ENOTCACHED|cannot find module providing|` +
		`(?i:(?:in|the) offline mode|--offline|was offline|` +
		`no matching distribution found|network is disabled|not (?:found )?in (?:the |your )?(?:local )?cache|cache miss)|` +
		`/\.(?:m2|npm|cache|gradle|ivy2|cargo)/`)},
	{Network, lazyregexp.New(`(?i)dial (?:tcp|udp)|\bENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|could not resolve|` +
		`getaddrinfo|name or service not known|name resolution|network is unreachable|no such host|NameResolutionError|` +
		`UnknownHostException|nodename nor servname|fetch failed|urlopen error|no route to host|failed to lookup address|` +
		`UND_ERR_CONNECT|couldn't connect to server|failed to connect to \S+ port|connecttimeout|could not connect to \S+\.\w`)},
	{Zone, lazyregexp.New(`(?i:time ?zone|tzdata|zoneinfo)|\bTZ\b|\bLocal\b.*\bUTC\b|\bUTC\b.*\bLocal\b|` +
		`\+0000 UTC.*[+-](?:0[1-9]|1\d|00[1-9])\d* |[+-](?:0[1-9]|1\d)[0-5]\d [A-Z]{3,5}\b.*\+0000|GMT\+0000.*GMT[+-]0?[1-9]`)},
	{Locale, lazyregexp.New(`(?i:\blocale\b|setlocale|UnicodeDecodeError|UnicodeEncodeError|'ascii' codec|\bcollat)|` +
		`\bLC_[A-Z]+\b|\b[a-z]{2}_[A-Z]{2}(?:\.(?i:utf-?8))?\b`)},
	{Variable, lazyregexp.New(`(?i:environment variable|env\. variable|env var)s?\W{1,3}([A-Z][A-Z0-9_]+)\b|` +
		`\b([A-Z][A-Z0-9_]{2,})\b\W{0,3}(?i:(?:environment variable )?(?:is |was )?(?:not set|unset|undefined|missing|required|` +
		`must be set|not defined|unbound variable|parameter not set|parameter null))|KeyError: '([A-Z][A-Z0-9_]+)'|` +
		`process\.env\.([A-Z][A-Z0-9_]+)|NoneType.*environ`)},
	{Tool, lazyregexp.New(`(?i)\b([\w.+-]+): (?:command )?not found|executable file not found|spawn \S+ ENOENT|not installed|` +
		`unsupported (?:engine|version)|requires (?:node|python|go|ruby|java|rust\w*)\b|No such file or directory: '\w+'|` +
		`incompatible version|No module named`)},
	{Home, lazyregexp.New(`/divisi/home\b|\$HOME\b|~/\.|/\.config/|` +
		`(?i:no such file|cannot open|can't open|ENOENT|EACCES|permission denied).*(?:/home/[\w.-]+/|/root/|/Users/[\w.-]+/)|` +
		`(?:/home/[\w.-]+/|/root/|/Users/[\w.-]+/).*(?i:no such file|permission denied)|\.(?:netrc|npmrc|gitconfig)\b|` +
		`(?i:please tell me who you are|author identity unknown|home directory|\bHOME\b is not)|known_hosts|/\.ssh/`)},
}
