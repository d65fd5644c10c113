package acceptance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// manifest knows which settings of a file of a package configure what runs its tests. A dependency, a version and the like are
// none.
type manifest struct {
	// file matches its path; settings returns the settings by their names. An error is a file that cannot be read.
	file     *lazyregexp.Regexp
	settings reader
	// bounds is set where its directory leaves the package above.
	bounds bool
}

var manifests = []manifest{
	{re(`(?:^|/)go\.mod$`), goSettings, true},
	{re(`(?:^|/)package\.json$`), nodePackage, true},
	{re(`(?:^|/)(?:deno\.jsonc?|composer\.json)$`), matching(jsonValues, `^(?:scripts|tasks|test|lint)\b`), true},
	{re(`(?:^|/)pyproject\.toml$`), matching(tomlValues, `^tool\.(?:pytest|coverage|tox|nox|ruff|mypy|pyright|pylint|flake8|poe|`+
		`taskipy|pdm\.scripts|hatch\.envs\b.*\.scripts)\b|\.pytest11\b|^build-system\.backend-path|`+
		`^tool\.uv\.sources\..*\.path$`), true},
	{re(`(?:^|/)setup\.cfg$`), matching(iniValues, `^(?:(?:tool:)?pytest|flake8|mypy|coverage|pylint|pycodestyle|aliases)\b|`+
		`pytest11`), false},
	{re(`(?:^|/)Cargo\.toml$`), matching(tomlValues, `^(?:lib|(?:bin|example)\.\d+)\.(?:test|harness|doctest|path)$|`+
		`^(?:test|bench)\.|^package\.(?:auto\w+|build|workspace)$|^workspace\.(?:members|exclude|default-members)$|`+
		`^profile\.test\b|^(?:workspace\.)?lints\b|^patch\..*\.path$`), true},
	{re(`(?:^|/)vite\.config\.\w+$`), vite, false},
	{re(`(?:^|/)pom\.xml$`), pom, true},
	{re(`(?:^|/)(?:build|settings)\.gradle(?:\.kts)?$|(?:^|/)gradle\.properties$`), gradle, false},
}

// goData are directories that Go leaves out.
var goData = re(`(?:^|/)testdata/`)

// setting returns what a manifest changes of what runs the tests; "" for nothing, and for another file.
func (p *Patch) setting(f *file) string {
	at := slices.IndexFunc(manifests, func(m manifest) bool { return m.file.MatchString(f.Path) })
	if at < 0 || f.Unread != "" {
		return ""
	}
	m := manifests[at]
	if f.data && (path.Base(f.Path) != "go.mod" || goData.MatchString(f.Path)) {
		return ""
	}
	if m.bounds && f.Before == nil && path.Dir(f.Path) != "." {
		return "a manifest that takes its directory out of the package above"
	}
	if len(f.Before)+len(f.After) > maxManifest {
		return "a manifest that is too large to be compared"
	}
	before, after, names, err := both(p, f, m.settings)
	if err != nil {
		return "a manifest that cannot be read"
	}
	for _, name := range names {
		if before[name] != after[name] {
			return fmt.Sprintf("the setting %s of a runner of tests or commands", text.Quote(text.Short(name, maxSetting)))
		}
	}
	return ""
}

// reader returns the values of a manifest by their names.
type reader func(*Patch, []byte) (map[string]string, error)

// both reads both sides of a manifest; names has all names of both, sorted.
func both(p *Patch, f *file, read reader) (before, after map[string]string, names []string, err error) {
	if before, err = read(p, f.Before); err != nil {
		return nil, nil, nil, err
	}
	if after, err = read(p, f.After); err != nil {
		return nil, nil, nil, err
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	return before, after, slices.Sorted(maps.Keys(all)), nil
}

// maxManifest bounds both sides of a manifest together, in bytes.
const maxManifest = 256 << 10

// maxSetting bounds the name of a setting in a message.
const maxSetting = 80

// matching returns the values of a format whose names match, but no versions.
func matching(read func([]byte) (map[string]string, error), names string) reader {
	all := every(read, names)
	return func(p *Patch, content []byte) (map[string]string, error) {
		values, err := all(p, content)
		maps.DeleteFunc(values, func(name, _ string) bool { return versions.MatchString(name) })
		return values, err
	}
}

// jsonValues are the values of an object at the top.
func jsonValues(content []byte) (map[string]string, error) {
	out := map[string]string{}
	if content == nil {
		return out, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(content, &object); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	for name, value := range object {
		var flat bytes.Buffer
		if err := json.Compact(&flat, value); err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		out[name] = flat.String()
	}
	return out, nil
}

var (
	// ofRunner are the fields of a package.json that configure tests, linters and hooks, and which packages belong together.
	ofRunner = text.Set(`jest mocha ava tap nyc c8 vitest jasmine cypress playwright eslintConfig stylelint xo standard
		lint-staged husky simple-git-hooks pre-commit gitHooks workspaces wireit`)
	// gateScript begins a script that gates run, or that an installation runs.
	gateScript = re(`^(?:pre|post)?(?:test|lint|check|build|coverage|typecheck|verify)|` +
		`^(?:(?:pre|post)?(?:install|prepare)|prepublish)$`)
	anyProgram = re(``)
	word       = re(`[\w:.@/-]+`)
)

// elsewhere is the version of a package that is not that of its name in a registry.
var elsewhere = re(`^(?:file|link|portal|npm|git|github|https?)\b.*:|^\.{0,2}/`)

// texts are the texts of an object.
func texts(object string) map[string]string {
	out, all := map[string]string{}, map[string]any{}
	if json.Unmarshal([]byte(object), &all) != nil {
		return out
	}
	for name, value := range all {
		if text, ok := value.(string); ok {
			out[name] = text
		}
	}
	return out
}

// scriptField begins the name of a script among the settings.
const scriptField = "scripts."

// nodePackage are the fields of a package.json that configure the runner, and the scripts that gates and installations run,
// directly or through others.
func nodePackage(p *Patch, content []byte) (map[string]string, error) {
	values, err := jsonValues(content)
	if err != nil {
		return nil, err
	}
	scripts := map[string]string{}
	if raw := values["scripts"]; raw != "" {
		if err := json.Unmarshal([]byte(raw), &scripts); err != nil {
			return nil, fmt.Errorf("read the scripts: %w", err)
		}
	}
	for _, field := range []string{"dependencies", "devDependencies", "optionalDependencies", "overrides", "resolutions"} {
		for name, version := range texts(values[field]) {
			if elsewhere.MatchString(version) {
				values[field+"."+name] = version
			}
		}
	}
	maps.DeleteFunc(values, func(name, _ string) bool { return !ofRunner[name] && !strings.Contains(name, ".") })
	run := p.gateWords(anyProgram)
	for more := true; more; {
		more = false
		for name, line := range scripts {
			base := strings.TrimPrefix(strings.TrimPrefix(name, "pre"), "post")
			if _, had := values[scriptField+name]; had || !gateScript.MatchString(name) && !run[name] && !run[base] {
				continue
			}
			values[scriptField+name], more = line, true
			add(run, word.FindAllString(line, -1))
		}
	}
	return values, nil
}

var (
	ignored     = re(`(?m)^\s*ignore(?:[ \t]*\(([^)]*)\)|[ \t]+([^(\n]+))`)
	byDirectory = re("(?m)^\\s*(?:replace\\s+)?(\\S+)(?:\\s+v\\S+)?\\s*=>\\s*([\"`]?\\.\\.?/\\S*)")
	comment     = re(`//[^\n]*`)
	major       = re(`/v\d+$`)
)

// goSettings are the directories that a module ignores, and the modules that directories of the repository replace: the next
// major version of one is the same module, whose path is renamed.
func goSettings(_ *Patch, content []byte) (map[string]string, error) {
	out := map[string]string{}
	plain := comment.ReplaceAllString(string(content), "")
	for _, m := range ignored.FindAllStringSubmatch(plain, -1) {
		out["ignore"] = strings.TrimSpace(out["ignore"] + " " + strings.Join(strings.Fields(m[1]+m[2]), " "))
	}
	for _, m := range byDirectory.FindAllStringSubmatch(plain, -1) {
		out["replace "+major.ReplaceAllLiteralString(m[1], "")] = m[2]
	}
	return out, nil
}

// iniValues are the values of a file with sections, each with the lines that continue it.
func iniValues(content []byte) (map[string]string, error) {
	out := map[string]string{}
	section, name := "", ""
	for line := range strings.Lines(string(content)) {
		plain := strings.TrimSpace(line)
		switch key, value, ok := cutAny(plain, "=:"); {
		case plain == "" || strings.HasPrefix(plain, "#") || strings.HasPrefix(plain, ";"):
		case strings.HasPrefix(plain, "["):
			section, name = strings.Trim(plain, "[] "), ""
		case name != "" && strings.ContainsAny(line[:1], " \t"):
			out[name] += "\n" + plain
		case ok:
			name = section + "." + strings.TrimSpace(key)
			out[name] = strings.TrimSpace(value)
		default:
			return nil, fmt.Errorf("%q is no setting", text.Short(plain, 80))
		}
	}
	return out, nil
}

func cutAny(line, chars string) (before, after string, ok bool) {
	if at := strings.IndexAny(line, chars); at >= 0 {
		return line[:at], line[at+1:], true
	}
	return line, "", false
}

// element is an element of XML with all below it.
type element struct {
	XMLName  xml.Name  `xml:""`
	Text     string    `xml:",chardata"`
	Elements []element `xml:",any"`
}

func (e *element) child(name string) string {
	for i := range e.Elements {
		if e.Elements[i].XMLName.Local == name {
			return strings.TrimSpace(e.Elements[i].Text)
		}
	}
	return ""
}

var (
	skippedTests = re(`(?i)skip|testFailureIgnore|test\.failure\.ignore|failIfNo|surefire|failsafe|jacoco|checkstyle|spotbugs|` +
		`pmd|enforcer|groups$|testSourceDirectory$|/modules/|/extensions?/|argLine`)
	versions = re(`(?i)version$`)
)

// maxPlace bounds the place of an element of a pom.xml, in bytes.
const maxPlace = 4 << 10

// pom are the settings of a pom.xml that choose tests, modules and what fails a build, each with the place of its element.
func pom(_ *Patch, content []byte) (map[string]string, error) {
	out := map[string]string{}
	if content == nil {
		return out, nil
	}
	var root element
	if err := xml.Unmarshal(content, &root); err != nil {
		return nil, fmt.Errorf("read XML: %w", err)
	}
	deep := false
	var walk func(e *element, at string)
	walk = func(e *element, at string) {
		if at += "/" + e.XMLName.Local; len(at) > maxPlace {
			deep = true
			return
		}
		if id := cmp.Or(e.child("artifactId"), e.child("id")); id != "" && e.XMLName.Local != "project" {
			at += "[" + id + "]"
		}
		if own := strings.TrimSpace(e.Text); skippedTests.MatchString(at+"/") && !versions.MatchString(at) &&
			!strings.Contains(at, "/dependency") {
			out[at] += own + "\n"
		}
		for i := range e.Elements {
			walk(&e.Elements[i], at)
		}
	}
	if walk(&root, ""); deep {
		return nil, errors.New("its elements are too deep")
	}
	return out, nil
}

var ofVitest = re(`\btest\s*[:{]|\bvitest\b`)

// vite is a file that configures a build, and tests where it names them.
func vite(_ *Patch, content []byte) (map[string]string, error) {
	if !ofVitest.Match(content) {
		return map[string]string{}, nil
	}
	return map[string]string{"test": strings.TrimSpace(string(content))}, nil
}

var gradleLine = re(`(?i)\btests?\b\s*(?:\{|\)|=)|ignoreFailures|useJUnit|onlyIf|\benabled\b|excludeT|filter\s*\{|skip|` +
	`threshold|jacoco|jvmArgs|org\.gradle\.|systemProp|^(?:include|includeBuild)\b|\bexclude\s*[("']+[\w*/.]*(?:\*|Test)`)

// gradle are the lines of a build of Gradle that configure tests, and the parts of a build.
func gradle(_ *Patch, content []byte) (map[string]string, error) {
	out := map[string]string{}
	for l := range strings.Lines(string(content)) {
		if l = strings.TrimSpace(l); gradleLine.MatchString(l) && !strings.HasPrefix(l, "//") {
			out[l] += "x"
		}
	}
	return out, nil
}
