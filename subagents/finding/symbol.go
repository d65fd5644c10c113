package finding

import (
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

var (
	// The name that an error of a compiler is about, in its message.
	inMessage = []*lazyregexp.Regexp{
		lazyregexp.New(`in call to ["']?([\w.]+)`), // go, mypy
		lazyregexp.New(`(?:undefined: |undefined reference to |cannot find symbol: (?:class|method|variable) )[\x60']?([\w.]+)`),
		lazyregexp.New(`(?:function|member named|Cannot find name|identifier) ['‘]([\w.:]+)['’]`),
		lazyregexp.New(`^[‘']([\w.:]+)[’'] (?:undeclared|was not declared)`),
		lazyregexp.New(`\b(?:method|constructor) (\w+) in (?:class|interface|enum|record) `), // javac
		lazyregexp.New(`\bcannot find (?:function|value|type|struct|macro)[\w, ]* \x60(\w+)\x60`),
		lazyregexp.New(`\b(?:cannot import name|[nN]ame|no exported member named) ['"](\w+)['"]`),
		lazyregexp.New(`\b(\w+)\(\) (?:missing|takes|got) `), // Python
	}
	// The name of a call in the source, where the message has none.
	called   = lazyregexp.New(`^[\w:.]*?(\w+)(?:::<[^()]*>)?\(`)
	around   = lazyregexp.New(`(\w+)(?:<[^()]*>)?\((?:[^()]|\([^()]*\))*$`)
	nameless = map[string]bool{"E0061": true, "TS2554": true, "TS2555": true}
)

// Symbol returns the name that an error is about, of its message or of the line of its source; "" where none tells.
func Symbol(f spec.Finding, source string) string {
	for _, pattern := range inMessage {
		if m := pattern.FindStringSubmatch(f.Message); m != nil {
			return m[1]
		}
	}
	if at := f.Column - 1; nameless[f.Code] && at >= 0 && at < len(source) {
		if m := called.FindStringSubmatch(source[at:]); m != nil {
			return m[1]
		}
	}
	if at := f.Column - 1; f.Code == "TS2345" && at >= 0 && at <= len(source) { // an argument
		if m := around.FindStringSubmatch(source[:at]); m != nil {
			return m[1]
		}
	}
	return ""
}
