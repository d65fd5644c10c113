package testsource

import (
	"path"
	"regexp"
	"strings"
)

var (
	// imports are statements that import names: Python's, and those of JavaScript; the groups are the names and the module.
	imports = re(`(?ms)^\s*from\s+([\w.]+)\s+import\s+(\([^()]*\)|[^\n]*)|` +
		`^\s*import\s+(?:type\s+)?([\w${}*,\s]+?)\s+from\s+['"]([^'"]+)['"]|` +
		`^\s*(?:const|let|var)\s+(\{[^{}]*\}|\w+)\s*=\s*(?:await\s+)?(?:require|import)\(\s*['"]([^'"]+)['"]`)
	alias = re(`[\w$*.]+\s+as\s+([\w$]+)|[\w$]+\s*:\s*([\w$]+)`)
	// modules are mocks of a module, members those of a function or a method of an object.
	modules = re(`\b(?:jest|vi)\.(?:do)?[mM]ock\(\s*(?:import\()?['"]([^'"]+)['"]`)
	actual  = re(`\b(?:requireActual|importActual|importOriginal)\b|\bactual\b`)
	members = re(`([\w$.]+)\.(\w+)\.(?:(?:return_value|side_effect)\s*=|mock(?:Return|Resolved|Rejected|Implementation)\w*\()|` +
		`\b(?:spyOn|patch\.object|setattr|sinon\.(?:stub|replace))\(\s*([\w$.]+),\s*['"](\w+)['"]|` +
		`(?m:^\s*([\w$.]+)\.(\w+)\s*=\s*(?:(?:jest|vi|sinon|mock)\.(?:fn|stub|Mock|MagicMock|AsyncMock)\b|` +
		`(?:Magic|Async)?Mock\(|lambda\b|\([^()\n]*\)\s*=>|async\b|function\b|\w+\s*=>))`)
	watches = re(`^[^\n;.]*\)\s*(?:[;)]|\n\s*[^.\s]|\s*$)`) // a spy that still calls what it watches
)

// importsOf returns the names that a file imports, with their modules.
func importsOf(content string) map[string]string {
	out := map[string]string{}
	for _, m := range imports.FindAllStringSubmatch(content, -1) {
		for _, pair := range [][2]string{{m[2], m[1]}, {m[3], m[4]}, {m[5], m[6]}} {
			for _, name := range Identifiers(alias.ReplaceAllString(pair[0], "$1$2")) {
				out[name] = pair[1]
			}
		}
	}
	return out
}

// calls reports whether a text calls a name: of an object, where it is given, by any object where that is a class.
func calls(content, object, name string) bool {
	if object == "" {
		return regexp.MustCompile(`(?m)(?:^|[^\w$.])` + regexp.QuoteMeta(name) + `(?:<[^<>()]*>)?\(`).MatchString(content)
	}
	class := strings.TrimSuffix(object, ".prototype")
	class = class[strings.LastIndexByte(class, '.')+1:]
	if class != "" && class[:1] != strings.ToLower(class[:1]) && calls(content, "", class) {
		return regexp.MustCompile(`\.` + name + `\(`).MatchString(content)
	}
	return strings.Contains(content, object+"."+name+"(")
}

// maxStubs bounds the mocks of one kind that are read in a file.
const maxStubs = 200

// stubsOf counts the mocks in a test file of what it tests: of a module whose functions it calls, of a function or a method that
// it calls itself. Mocks of what these use are none.
func stubsOf(name, content string) int {
	imported := importsOf(content)
	n := mockedModules(name, content, imported)
	for _, m := range members.FindAllStringSubmatchIndex(content, maxStubs) {
		object, member, rest := m[2:4], m[4:6], content[m[1]:]
		for at := 6; object[0] < 0; at += 4 {
			object, member = m[at:at+2], m[at+2:at+4]
		}
		if strings.HasPrefix(content[m[0]:], "spyOn") && watches.MatchString(rest) {
			continue
		}
		on := strings.TrimPrefix(content[object[0]:object[1]], "self.")
		if on != "self" && on != "this" && on != "process" && calls(content, on, content[member[0]:member[1]]) {
			n++
		}
	}
	return n
}

func mockedModules(name, content string, imported map[string]string) (n int) {
	stem, _, _ := strings.Cut(path.Base(name), ".")
	for _, m := range modules.FindAllStringSubmatchIndex(content, maxStubs) {
		module := content[m[2]:m[3]]
		mock := content[m[0]:balanced(content, m[0]+strings.IndexByte(content[m[0]:], '('))]
		partial := actual.MatchString(mock)
		mocked := !partial && path.Base(strings.TrimSuffix(module, path.Ext(module))) == stem
		for name, from := range imported {
			if from == module && !mocked {
				given := !partial || regexp.MustCompile(`[{,(]\s*`+regexp.QuoteMeta(name)+`\s*[:(,]`).MatchString(mock)
				mocked = given && calls(content, "", name)
			}
		}
		if mocked {
			n++
		}
	}
	return n
}
