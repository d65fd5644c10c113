package each

import (
	"path"
	"regexp"
	"strings"

	"divisi/internal/lazyregexp"
)

// wanted is the expression of what some substitutions look for, as one of Go; "" where a command is none of sed or perl that
// consists of substitutions of plain text. It must match wherever the command changes something, and may match elsewhere too.
func wanted(command []string) string {
	list, special := scripts(command)
	var all []string
	for _, script := range list {
		from := substitution(script, special)
		if from == "" {
			return ""
		}
		all = append(all, from)
	}
	return strings.Join(all, "|")
}

var ofSed = lazyregexp.New(`^-(?:i(?:\.\w+)?|s|[Er]i?|e|[Er]e|-in-place(?:=.*)?|-regexp-extended)$`)

// kinds are, by program, the options with which a script means what it says; e tells that the script is the next argument.
var kinds = map[string]struct {
	options *lazyregexp.Regexp
	special string
}{
	"sed":  {ofSed, basic},
	"gsed": {ofSed, basic},
	"perl": {lazyregexp.New(`^-(?:p?i(?:\.\w+)?|p|p?e)$`), perl},
}

// scripts are those of a command of sed or perl, and the characters that are special in them; nil for other commands, and for
// options that can change what a script means.
func scripts(command []string) (list []string, special string) {
	kind, ok := kinds[path.Base(command[0])]
	special = kind.special
	var rest []string
	for i := 1; ok && i < len(command); i++ {
		arg := command[i]
		if !strings.HasPrefix(arg, "-") {
			rest = append(rest, arg)
			continue
		}
		own, long := strings.CutPrefix(arg, "--expression=")
		switch {
		case long && special != perl:
			list = append(list, own)
			continue
		case !kind.options.MatchString(arg):
			return nil, ""
		case strings.HasSuffix(arg, "e") && !strings.HasPrefix(arg, "--") && i+1 < len(command):
			i++
			list = append(list, command[i])
		}
		if special == basic && (arg == "--regexp-extended" || strings.HasPrefix(arg, "-E") || strings.HasPrefix(arg, "-r")) {
			special = extended
		}
	}
	if list == nil && len(rest) > 1 && special != perl {
		list = rest[:1]
	}
	return list, special
}

// The characters that an expression does not have as they are, by its kind, and those that a backslash makes plain.
const (
	basic    = `*[\` + "\n"
	extended = basic + `(){}+?|`
	perl     = extended + `$@`
)

// substitution is what s/from/to/flags looks for; "" where that is more than plain text between the ends of a line, or of words.
func substitution(script, special string) string {
	script = strings.TrimRight(strings.TrimSpace(script), "; ")
	if len(script) < 4 || script[0] != 's' || !strings.ContainsRune("/|#,!:%", rune(script[1])) {
		return ""
	}
	delimiter := script[1]
	var parts []string
	last := 2
	for i := 2; i < len(script); i++ {
		switch script[i] {
		case '\\':
			i++
		case delimiter:
			parts, last = append(parts, script[last:i]), i+1
		}
	}
	if len(parts) != 2 || strings.Trim(script[last:], "gIi0123456789") != "" {
		return ""
	}
	from := plainText(parts[0], special, delimiter)
	if from != "" && strings.ContainsAny(script[last:], "Ii") {
		from = "(?i:" + from + ")"
	}
	return from
}

// plainText is a text to look for as an expression of Go; "" where it is none.
func plainText(from, special string, delimiter byte) string {
	var b strings.Builder
	for i := 0; i < len(from); i++ {
		switch c := from[i]; {
		case c == '\\' && i+1 < len(from):
			i++
			switch next := from[i]; {
			case next == 'b', strings.IndexByte("<>", next) >= 0 && special != perl:
				b.WriteString(`\b`)
			case next == delimiter && strings.IndexByte(special, next) < 0, strings.IndexByte(`.*[]^$/\-`, next) >= 0,
				strings.IndexByte(special, next) >= 0 && special != basic && next != delimiter:
				b.WriteString(regexp.QuoteMeta(string(next)))
			default:
				return ""
			}
		case c == '^' && i == 0, c == '$' && i == len(from)-1:
			b.WriteByte(c)
		case c == '.':
			b.WriteByte(c)
		case c >= 0x80, c == '^', c == '$', strings.IndexByte(special, c) >= 0:
			return ""
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	if text := b.String(); strings.ContainsAny(from[:min(1, len(from))]+from[max(0, len(from)-1):], "^$") {
		return "(?m:" + text + ")"
	}
	return b.String()
}
