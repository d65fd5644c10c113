package each

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// substitution is one substitution of sed or perl: what it looks for, as an expression of Go, and what it writes.
type substitution struct{ from, to string }

// substitutions are those of a command of sed or perl that consists of nothing else; nil where that is not known.
func substitutions(command []string) (list []substitution) {
	program := path.Base(command[0])
	perl, extended := program == "perl", false
	if !perl && program != "sed" && program != "gsed" {
		return nil
	}
	var scripts, rest []string
	for i := 1; i < len(command); i++ {
		arg := command[i]
		script, long := strings.CutPrefix(arg, "--expression=")
		switch {
		case long:
			scripts = append(scripts, script)
		case arg == "--regexp-extended":
			extended = true
		case !strings.HasPrefix(arg, "-"):
			rest = append(rest, arg)
		case strings.HasPrefix(arg, "--"):
		case strings.HasPrefix(arg, "-i"): // what follows it is the ending of a copy
		default:
			extended = extended || strings.ContainsAny(arg, "Er")
			if strings.HasSuffix(arg, "e") && i+1 < len(command) {
				i++
				scripts = append(scripts, command[i])
			}
		}
	}
	if len(scripts) == 0 && len(rest) > 0 && !perl {
		scripts = rest[:1]
	}
	for _, script := range scripts {
		s, ok := parse(script, perl || extended)
		if !ok {
			return nil
		}
		list = append(list, s)
	}
	return list
}

// parse reads s/from/to/flags.
func parse(script string, extended bool) (s substitution, ok bool) {
	script = strings.TrimRight(strings.TrimSpace(script), "; ")
	if len(script) < 4 || script[0] != 's' || !strings.ContainsRune("/|#,!:@%", rune(script[1])) {
		return s, false
	}
	var parts []string
	last := 2
	for i := 2; i < len(script); i++ {
		switch script[i] {
		case '\\':
			i++
		case script[1]:
			parts, last = append(parts, script[last:i]), i+1
		}
	}
	if len(parts) != 2 || strings.Trim(script[last:], "gIi0123456789") != "" {
		return s, false
	}
	delimiter := script[1:2]
	if s.from, ok = expression(strings.ReplaceAll(parts[0], `\`+delimiter, delimiter), extended); !ok {
		return s, false
	}
	if strings.ContainsAny(script[last:], "Ii") {
		s.from = "(?i:" + s.from + ")"
	}
	s.to = strings.ReplaceAll(parts[1], `\`+delimiter, delimiter)
	_, err := regexp.Compile(s.from)
	return s, err == nil
}

// expression is an expression of sed, or of perl, as one of Go. It is false for what is not the same in both.
func expression(from string, extended bool) (string, bool) {
	if extended {
		return byLine(from), !strings.Contains(from, "(?")
	}
	b := strings.Builder{}
	for i := 0; i < len(from); i++ {
		switch c := from[i]; {
		case c == '\\' && i+1 < len(from):
			i++
			switch next := from[i]; {
			case strings.IndexByte("<>", next) >= 0:
				b.WriteString(`\b`)
			case strings.IndexByte(`(){}+?|`, next) >= 0:
				b.WriteByte(next)
			case strings.IndexByte(`.*[]^$/\-bwWsS`, next) >= 0:
				b.WriteString(from[i-1 : i+1])
			default:
				return "", false
			}
		case strings.IndexByte(`(){}+?|`, c) >= 0:
			b.WriteString(`\` + string(c))
		case c == '^' && i > 0, c == '$' && i+1 < len(from):
			b.WriteString(`\` + string(c))
		default:
			b.WriteByte(c)
		}
	}
	return byLine(b.String()), true
}

// byLine has an expression find the ends of each line.
func byLine(expression string) string {
	if strings.ContainsAny(expression, "^$") {
		return "(?m:" + expression + ")"
	}
	return expression
}

// match is the expression of what some substitutions look for. stays reports whether what they write can match again.
func match(list []substitution) (all string, stays bool) {
	var from []string
	for _, s := range list {
		from = append(from, s.from)
	}
	all = strings.Join(from, "|")
	looks, err := regexp.Compile(all)
	return all, err != nil || slices.ContainsFunc(list, func(s substitution) bool {
		return strings.ContainsAny(s.to, `&\$`) || looks.MatchString(s.to)
	})
}
