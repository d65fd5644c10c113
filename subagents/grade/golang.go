package grade

import (
	"bytes"
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/subagents/gate/trace"
	"divisi/subagents/grade/calls"
)

// golang tells by the go command's own rules which files the calls of a gate compile.
type golang struct {
	root *os.Root
	env  []string
	runs []goRun
	// homes are the directories with a go.mod, by the directories below.
	homes map[string]string
	texts map[string][]byte
	// known are the answers, from before the gate ran.
	known map[string]goAnswer
}

// goRun is one call that compiles packages.
type goRun struct {
	call     calls.Call
	context  build.Context
	patterns []string
	// main are the directories of the modules that ./... has packages of; tests is set where it compiles those, whole where it
	// compiles what is not Go too.
	main         []string
	tests, whole bool
}

// goAnswer is whether a call compiles a file; sure that no opening needs to show it. Else u is why not.
type goAnswer struct {
	compiled, sure bool
	u              *spec.Unread
}

// newGolang answers for the files of Go, and for those of C in their packages.
func newGolang(root *os.Root, env []string, list []calls.Call, files []File) *golang {
	g := &golang{root: root, env: env, homes: map[string]string{}, texts: map[string][]byte{}, known: map[string]goAnswer{}}
	for _, call := range list {
		if call.Role == calls.Compiles && slices.Contains(call.Languages, calls.Go) {
			g.runs = append(g.runs, g.runOf(call))
		}
	}
	for _, f := range files {
		switch {
		case !g.any():
		case f.Language == calls.Go:
			g.known[f.Path] = g.answer(f.Path)
		case f.Language == calls.C && g.compilesC(f.Path):
			g.known[f.Path] = goAnswer{compiled: true, sure: true}
		}
	}
	g.texts = nil
	return g
}

func (g *golang) any() bool { return len(g.runs) > 0 }

var goValued = strings.Fields(`-run -skip -count -timeout -tags -o -coverprofile -coverpkg -covermode -p -parallel -bench
	-benchtime -cpu
	-ldflags -gcflags -asmflags -mod -modfile -overlay -exec -list -fuzz -fuzztime -shuffle -cpuprofile -memprofile
	-trace -outputdir -vet -vettool -pkgdir -toolexec -buildmode -compiler -installsuffix -c -C --timeout --config
	--build-tags --format -f --junitfile --jsonfile --rerun-fails -checks -go -j --concurrency -E -D --enable
	--disable`)

// steers reports whether the go command reads a file that names modules.
func (g *golang) steers(name string) bool {
	dir, base := path.Split(name)
	return slices.ContainsFunc(g.runs, func(r goRun) bool {
		switch base {
		case "go.mod", "go.sum":
			return slices.Contains(r.main, path.Clean(dir))
		case "go.work", "go.work.sum":
			return within(path.Clean(dir), r.call.Dir)
		}
		return false
	})
}

// runOf reads the words of a call.
func (g *golang) runOf(call calls.Call) goRun {
	r := goRun{call: call, context: g.context(call)}
	words := call.Words[1:]
	verb := call.Words[0]
	for i := 0; i < len(words); i++ {
		name, _, inline := strings.Cut(words[i], "=")
		switch word := words[i]; {
		case word == "-args":
			words = words[:i]
		case strings.HasPrefix(word, "-"):
			if !inline && slices.Contains(goValued, name) {
				i++
			}
		case verb == "go":
			verb = word
		case word == "run" && call.Words[0] == "golangci-lint":
		default:
			r.patterns = append(r.patterns, word)
		}
	}
	r.tests = verb != "build" && verb != "install"
	r.whole = verb == "build" || verb == "install" || verb == "test"
	if len(r.patterns) == 0 {
		r.patterns = []string{"."}
		if verb == "golangci-lint" || verb == "gotestsum" {
			r.patterns = []string{"./..."}
		}
	}
	r.main = []string{g.home(call.Dir)}
	if work := g.workspace(call); work != nil {
		r.main = work
	}
	return r
}

// context is how a call builds.
func (g *golang) context(call calls.Call) build.Context {
	c := build.Default
	own := strings.Fields(setting(call.Env, g.env, "GOFLAGS"))
	if v := setting(call.Env, g.env, "GOOS"); v != "" {
		c.GOOS = v
	}
	if v := setting(call.Env, g.env, "GOARCH"); v != "" {
		c.GOARCH = v
	}
	native := c.GOOS == build.Default.GOOS && c.GOARCH == build.Default.GOARCH
	cgo := setting(call.Env, g.env, "CGO_ENABLED")
	c.CgoEnabled = cgo == "1" || cgo == "" && native && onPath(setting(nil, g.env, "PATH"), "gcc", "clang", "cc")
	c.BuildTags, c.ToolTags = nil, build.Default.ToolTags
	for _, words := range [][]string{own, call.Words} {
		for i, word := range words {
			name, value, inline := strings.Cut(strings.TrimLeft(word, "-"), "=")
			if !strings.HasPrefix(word, "-") || name != "tags" && name != "build-tags" {
				continue
			}
			if !inline && i+1 < len(words) {
				value = words[i+1]
			}
			c.BuildTags = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		}
	}
	if slices.Contains(call.Words, "-race") {
		c.BuildTags = append(c.BuildTags, "race")
	}
	c.JoinPath = path.Join
	return c
}

func onPath(search string, programs ...string) bool {
	for dir := range strings.SplitSeq(search, string(os.PathListSeparator)) {
		for _, p := range programs {
			if info, err := os.Stat(path.Join(dir, p)); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}

// home is the directory of the module that a directory belongs to; "" for none.
func (g *golang) home(dir string) string {
	if known, ok := g.homes[dir]; ok {
		return known
	}
	home := ""
	if info, err := g.root.Lstat(path.Join(dir, "go.mod")); err == nil && info.Mode().IsRegular() {
		home = dir
	} else if dir != "." {
		home = g.home(path.Dir(dir))
	}
	g.homes[dir] = home
	return home
}

// workspace are the modules of the go.work that a call uses; nil without one.
func (g *golang) workspace(call calls.Call) []string {
	if v := setting(call.Env, g.env, "GOWORK"); v != "" { // off, or a file that is not the tree's
		return nil
	}
	for dir := call.Dir; ; dir = path.Dir(dir) {
		if text := g.text(path.Join(dir, "go.work")); text != nil {
			uses := trace.Uses(string(text))
			for i := range uses {
				uses[i] = path.Join(dir, uses[i])
			}
			return uses
		}
		if dir == "." {
			return nil
		}
	}
}

const maxSource = 8 << 20

// text is a file of the tree, nil where there is none.
func (g *golang) text(name string) []byte {
	if known, ok := g.texts[name]; ok {
		return known
	}
	g.texts[name] = nil
	file, err := trace.Open(g.root, name)
	if err != nil || file == nil {
		return nil
	}
	defer file.Close() // only read from
	if data, err := io.ReadAll(io.LimitReader(file, maxSource)); err == nil {
		g.texts[name] = data
	}
	return g.texts[name]
}

// matches reports whether a file is in a build.
func (g *golang) matches(c build.Context, name string) bool {
	data := g.text(name)
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
	ok, err := c.MatchFile(path.Dir(name), path.Base(name))
	return err == nil && ok && (c.CgoEnabled || !g.importsC(name))
}

// importsC reports whether a file of Go needs a C compiler.
func (g *golang) importsC(name string) bool {
	if path.Ext(name) != ".go" || !bytes.Contains(g.text(name), []byte(`"C"`)) {
		return false
	}
	file, err := parser.ParseFile(token.NewFileSet(), name, g.text(name), parser.ImportsOnly|parser.SkipObjectResolution)
	if err != nil {
		return false
	}
	for _, i := range file.Imports {
		if value, err := strconv.Unquote(i.Path.Value); err == nil && value == "C" {
			return true
		}
	}
	return false
}

var ignored = lazyregexp.New(`(?m)^\s*(?:ignore\s+)?\./(\S+)\s*(?://.*)?$`)

// passesOver reports whether ./... of a directory leaves a package out. In a module's go.mod there may be others.
func (g *golang) passesOver(base, dir string) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(dir, base), "/")
	if base == "." {
		rest = dir
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == "testdata" || part == "vendor" || len(part) > 1 && (part[0] == '_' || part[0] == '.') {
			return true
		}
	}
	home := g.home(dir)
	manifest := g.text(path.Join(home, "go.mod"))
	if !bytes.Contains(manifest, []byte("ignore")) {
		return false
	}
	for _, m := range ignored.FindAllSubmatch(manifest, -1) {
		if within(path.Join(home, string(m[1])), dir) {
			return true
		}
	}
	return false
}

// within reports whether a directory is another one or below it.
func within(above, dir string) bool {
	return above == "." || dir == above || strings.HasPrefix(dir, above+"/")
}

// covers reports whether a call names the package of a file. sure is unset where a pattern is not known.
func (g *golang) covers(r goRun, name string) (covered, sure bool) {
	dir, sure := path.Dir(name), true
	for _, p := range r.patterns {
		base, all := strings.CutSuffix(p, "...")
		local := p == "." || p == ".." || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../")
		switch {
		case strings.HasSuffix(p, ".go"):
			covered = covered || path.Join(r.call.Dir, p) == name
			continue
		case p == "all":
			base, all = g.home(r.call.Dir), true
		case local || p == "...":
			base = path.Join(r.call.Dir, base)
		default:
			if base = g.imported(strings.TrimSuffix(base, "/")); base == "" {
				sure = sure && !strings.ContainsAny(p, "$%{")
				continue
			}
		}
		if strings.Contains(base, "...") {
			sure = false
			continue
		}
		covered = covered || base == dir || all && within(base, dir) && !g.passesOver(base, dir)
	}
	return covered && slices.Contains(r.main, g.home(dir)), sure
}

var moduleLine = lazyregexp.New(`(?m)^module\s+"?([^\s"]+)`)

// imported is the directory of an import path of the module at the top; "" for another one.
func (g *golang) imported(p string) string {
	m := moduleLine.FindSubmatch(g.text("go.mod"))
	if m == nil {
		return ""
	}
	if rest, ok := strings.CutPrefix(p+"/", string(m[1])+"/"); ok {
		return path.Join(".", rest)
	}
	return ""
}
