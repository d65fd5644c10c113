package environment_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/subagents/environment"
)

func TestWhatASetupDependsOn(t *testing.T) {
	t.Parallel()
	const whole = environment.WholeTree
	plain := map[string]string{
		"package.json": `{"scripts": {"test": "x"}}`, "a/package.json": "{}", "package-lock.json": "", "src/a.js": "",
		"go.mod": "", "m/go.sum": "", "requirements.txt": "click==8\n# https://x/y\n", "own.txt": "-e .\n",
	}
	building := map[string]string{"package.json": `{"scripts": {"prepare": "make"}}`, "src/a.js": ""}
	for name, c := range map[string]struct {
		command string
		files   map[string]string
		want    []string
	}{
		"npm":                 {"npm ci", plain, []string{"a/package.json", "package-lock.json", "package.json"}},
		"npm that builds":     {"npm ci", building, []string{whole}},
		"npm without scripts": {"npm ci --ignore-scripts", building, []string{"package.json"}},
		"go":                  {"go mod download", plain, []string{"go.mod", "m/go.sum"}},
		"bundler":             {"bundle install", map[string]string{"gems.rb": "gem 'a'", "gems.locked": ""}, []string{"gems.locked", "gems.rb"}},
		"bundler of the tree": {"bundle install", map[string]string{"gems.rb": "gemspec"}, []string{whole}},
		"go that builds":      {"go build ./...", plain, []string{whole}},
		"pip":                 {"pip install -r requirements.txt", plain, []string{"requirements.txt"}},
		"pip of the tree":     {"pip install -r own.txt", plain, []string{whole}},
		"pip, a copy":         {"pip install .", plain, []string{whole}},
		"a script":            {"sh setup.sh", plain, []string{whole}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, err := environment.FilesOf(&spec.Setup{Command: strings.Fields(c.command)}, &environment.Tree{
				ID: "tree", Blobs: c.files, Read: func(name string) ([]byte, error) { return []byte(c.files[name]), nil },
			})
			require.NoError(t, err)
			names := []string{}
			for name := range files {
				names = append(names, name)
			}
			require.ElementsMatch(t, c.want, names)
		})
	}
}

// What a commit changes of other files has nothing installed anew.
func TestWhichFilesKeyWhichInstaller(t *testing.T) {
	t.Parallel()
	const tools = `npm install --global --no-audit --prefix "$DIVISI_TOOLS" `
	for command, want := range map[string]string{
		"npm ci --no-audit": ".npmrc a/package.json package-lock.json package.json",
		"npm install":       ".npmrc a/package.json package-lock.json package.json",
		tools + "pnpm@9.1.0 && pnpm install --frozen-lockfile": ".npmrc a/package.json package.json patches/x.patch pnpm-lock.yaml " +
			"pnpm-workspace.yaml",
		"yarn install --frozen-lockfile": ".npmrc .yarn/plugins/p.cjs .yarnrc.yml a/package.json package.json yarn.lock",
		tools + "@yarnpkg/cli-dist@4 && yarn install --immutable": ".npmrc .yarn/plugins/p.cjs .yarnrc.yml a/package.json " +
			"package.json yarn.lock",
		"bun install":                         ".npmrc a/package.json bun.lock bunfig.toml package.json patches/x.patch",
		"pip install -r requirements.txt":     "requirements.txt",
		"poetry install --no-interaction":     "poetry.lock pyproject.toml",
		"uv sync --frozen --group test":       "a/requirements.txt pyproject.toml requirements.txt uv.lock",
		"bundle install":                      "Gemfile Gemfile.lock",
		"cargo fetch --locked":                ".cargo/config Cargo.lock Cargo.toml c/Cargo.toml",
		"go -C m mod download":                "go.mod go.sum",
		"go mod download && (cd a && npm ci)": ".npmrc a/package.json go.mod go.sum package-lock.json package.json",
		"python3 -m venv .venv && .venv/bin/pip install -r requirements.txt -e .": "pyproject.toml " +
			"requirements.txt",
		"python3 -m venv .venv && .venv/bin/pip install 'six<2' pytest -e '.[test]'": "pyproject.toml",
		"pip install -e .":    "pyproject.toml",
		"pip install six.whl": ".",
		"pip install ./six":   ".",
		"pip install a/b":     ".",
		"env A=b npm ci":      ".npmrc a/package.json package-lock.json package.json",
		// What is not known to read these alone.
		"npm ci && npm run build":                                        ".",
		"npm install --global ./tool":                                    ".",
		"npm install --global .":                                         ".",
		"npm install vendor/a.tgz":                                       ".",
		"uv sync --script tools/run.py":                                  ".",
		"bundle install --gemfile ci.gemfile":                            ".",
		"BUNDLE_GEMFILE=gems/ci.gemfile bundle install":                  ".",
		"BUNDLE_GEMFILE=Cifile bundle install":                           ".",
		"PIP_CONSTRAINT=limits.txt pip install -r requirements.txt":      ".",
		"pip install -r requirements.txt --constraint=limits.txt":        ".",
		"pip install -r requirements.txt --no-index --find-links=wheels": ".",
		"npm_config_registry=http://a.b/c npm ci":                        ".npmrc a/package.json package-lock.json package.json",
		"go mod download -modfile=tools.mod":                             ".",
		"cargo fetch --config ci/cargo.toml":                             ".",
		"npm ci --userconfig=ci/npmrc":                                   ".",
		"npm ci; make":                                                   ".",
		"npm ci || true":                                                 ".",
		"npm ci $(cat src/x)":                                            ".",
		"(cd a && pip install -r requirements.txt)":                      ".",
		"pip install -r requirements.txt -e a":                           ".",
		"mvn -B -q test":                                                 ".",
		"yarn":                                                           ".",
		"":                                                               ".",
		"&&":                                                             ".",
	} {
		blobs := map[string]string{}
		for _, name := range strings.Fields(`src/x README.md .npmrc package.json package-lock.json a/package.json pnpm-lock.yaml
			pnpm-workspace.yaml patches/x.patch yarn.lock .yarnrc.yml .yarn/plugins/p.cjs bun.lock bunfig.toml requirements.txt
			a/requirements.txt pyproject.toml poetry.lock uv.lock Gemfile Gemfile.lock Cargo.toml Cargo.lock c/Cargo.toml .cargo/config pom.xml
			m/pom.xml .mvn/maven.config build.gradle settings.gradle.kts gradle/libs.versions.toml gradle.properties go.mod go.sum`) {
			blobs[name] = "{}"
		}
		files, err := environment.FilesOf(&spec.Setup{Command: []string{"sh", "-c", command}}, &environment.Tree{
			ID: "tree", Blobs: blobs, Read: func(string) ([]byte, error) { return []byte("{}"), nil },
		})
		require.NoError(t, err)
		require.Equal(t, want, strings.Join(slices.Sorted(maps.Keys(files)), " "), command)
	}
}

func TestSetupsWithoutALockFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ command, file, want string }{
		{"npm install", "package.json", "package-lock.json npm-shrinkwrap.json"},
		{"npm install", "web/package-lock.json", ""},
		{"npm install --global x && yarn install", "package-lock.json", "yarn.lock"},
		{"poetry install", "pyproject.toml", "poetry.lock"},
		{"npm install; make", "package.json", "package-lock.json npm-shrinkwrap.json"},
		{"go mod download", "go.mod", ""},
		{"sh setup.sh", "package.json", ""},
	} {
		setup := &spec.Setup{Command: []string{"sh", "-c", c.command}}
		locks := environment.Unlocked(setup, &environment.Tree{Blobs: map[string]string{c.file: "1"}})
		require.Equal(t, c.want, strings.Join(locks, " "), c.command)
	}
}

func TestSourcesOfTheTreeThatASetupCopiesOrBuilds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, file, text string
		whole               bool
	}{
		{"yarn install", "package.json", `{"dependencies": {"helpers": "file:./helpers"}}`, true},
		{"yarn install", "a/package.json", `{"devDependencies": {"helpers": "../helpers"}}`, true},
		{"yarn install", "package.json", `{"resolutions": {"helpers": "exec:./make.js"}}`, true},
		{"yarn install", "package.json", `{"dependencies": {"a": "link:./a", "b": "workspace:*", "c": "~1.0"}, "main": "./x.js"}`, false},
		{"npm ci", "package.json", `{"optionalDependencies": {"a": "a.tgz"}}`, true},
		{"npm ci", "package.json", `{"dependencies": {"a": "https://example.test/a.tgz", "b": "me/b"}}`, false},
		{"npm ci --ignore-scripts", "package.json", `{"overrides": {"a": {".": "1", "b": "file:b"}}}`, true},
		{"npm ci", "package.json", `{"dependencies": `, true},
		{"npm ci", "native/binding.gyp", ``, true},
		{"npm ci", "other/binding.gyp", ``, false},
		{"npm ci --ignore-scripts", "native/binding.gyp", ``, false},
		{"pnpm install", "package.json", `{"dependenciesMeta": {"a": {"injected": true}}}`, true},
		{"pnpm install", "package.json", `{"dependenciesMeta": {"a": {"injected": false}}}`, false},
		{"pnpm install", "package.json", `{"pnpm": {"overrides": {"a": "file:a"}}}`, true},
		{"pnpm install", "pnpm-workspace.yaml", "packages: [a]\ninjectWorkspacePackages: true\n", true},
		{"pnpm install", "pnpm-workspace.yaml", "catalog:\n  a: 'file:a'\n", true},
		{"pnpm install", "pnpm-workspace.yaml", "packages: ['./a']\n", false},
		{"pnpm install", ".npmrc", "inject-workspace-packages=true\n", true},
		{"pnpm install", ".npmrc", "cafile=/etc/x\n", false},
		{"uv sync", "pyproject.toml", "[tool.uv.sources]\na = { path = \"libs/a\" }\n", true},
		{"uv sync", "pyproject.toml", "[tool.uv.sources.a]\npath = \"libs/a\"\n", true},
		{"uv sync", "pyproject.toml", "[tool.uv.sources]\na = { workspace = true, editable = false }\n", true},
		{"uv sync", "pyproject.toml", "[tool.uv.sources]\na = { workspace = true }\n", false},
		{"uv sync", "pyproject.toml", "[build-system]\nbuild-backend = \"maturin\"\n", true},
		{"uv sync", "pyproject.toml", "[build-system]\nbuild-backend = \"hatchling.build\"\n", false},
		{"uv sync", "pyproject.toml", "[project]\ndynamic = [\"version\"]\n", true},
		{"uv sync", "setup.py", "", true},
		{"uv sync --no-editable", "pyproject.toml", "", true},
		{"bundle install", "Gemfile", "gem 'a', path: 'a'\n", true},
		{"bundle install", "Gemfile", "gem 'a', :path => 'a'\n", true},
		{"bundle install", "Gemfile", "source 'x'\ngemspec\n", true},
		{"bundle install", "Gemfile", "gem 'a', require: false\n", false},
		{"go mod download", "go.mod", "replace a => ./a\n", false},
		{"pnpm install", ".pnpmfile.cjs", "module.exports = require('./hooks')\n", true},
		{"pnpm install", ".pnpmfile.cjs", "module.exports = {hooks: {}}\n", false},
		{"uv sync", "pyproject.toml", "[tool.setuptools]\nscript-files = [\"bin/a\"]\n", true},
		{"uv sync", "setup.cfg", "[options]\nscripts =\n  bin/a\n", true},
		{"uv sync", "setup.cfg", "[options]\nzip_safe = no\n", false},
	} {
		files := map[string]string{"native/package.json": `{}`, c.file: c.text}
		got, err := environment.FilesOf(&spec.Setup{Command: strings.Fields(c.command)}, &environment.Tree{
			ID: "tree", Blobs: files, Read: func(name string) ([]byte, error) { return []byte(files[name]), nil },
		})
		require.NoError(t, err)
		_, whole := got[environment.WholeTree]
		require.Equal(t, c.whole, whole, "%s: %s: %s", c.command, c.file, c.text)
	}
}

func TestTheFilesThatDecideWhatIsInstalled(t *testing.T) {
	t.Parallel()
	read := &environment.Read{Files: map[string]string{
		"package.json": "1", "dev/tests.txt": "1", "setup.sh": "1", "README.md": "1", "src/A.java": "1", "b/src/a.js": "1", "deps": "1",
	}}
	for _, c := range []struct {
		setup, name  string
		read         *environment.Read
		may, certain bool
	}{
		{"npm ci", "package.json", read, true, true},
		{"npm ci", "new/package.json", read, true, false},
		{"npm ci", "index.js", read, false, false},
		{"npm ci", "b/src/a.js", read, false, false}, // of b/dist
		{"sh setup.sh", "setup.sh", read, true, false},
		{"sh setup.sh", "README.md", read, false, false},
		{"pip install -e .", "setup.sh", read, false, false}, // it is known what that reads
		{"sh setup.sh", "setup.sh", nil, false, false},
		{"npm ci", "package.json", nil, true, true},
		{"pip install -r dev/tests.txt", "dev/tests.txt", read, true, true},
		{"pip install -r dev/tests.txt", "docs.txt", read, false, false},
		{"mvn -B test", "src/A.java", read, false, false},
		{"sh setup.sh", "src/A.java", read, true, false},
		{"key", "deps", read, true, true},
		{"key", "setup.sh", read, false, false},
	} {
		setup := &spec.Setup{Command: strings.Fields(c.setup)}
		if c.setup == "key" {
			setup.Key = []string{"deps"}
		}
		e := environment.Environment{Manifest: environment.Manifest{Read: c.read, Places: []string{"b/dist"}}}
		if c.setup != "pip install -e ." {
			e.Recipe.Files = map[string]string{environment.WholeTree: "1"}
		}
		may, certain := e.Decides(setup, c.name)
		require.Equal(t, [2]bool{c.may, c.certain}, [2]bool{may, may && certain}, "%s: %s", c.setup, c.name)
	}
	require.True(t, environment.InstallsItself(&spec.Setup{Command: []string{"go", "mod", "download"}}))
	require.False(t, environment.InstallsItself(&spec.Setup{Command: []string{"go", "run", "x"}}))
}
