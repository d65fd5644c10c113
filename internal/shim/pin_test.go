package shim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox/stage"
)

func TestPinsOfACheckout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  []Pin
	}{
		"nvm":            {map[string]string{".nvmrc": "v18.20\n"}, []Pin{{".nvmrc", "node", "18.20"}}},
		"a name":         {map[string]string{".nvmrc": "lts/hydrogen\n"}, nil},
		"the first":      {map[string]string{".nvmrc": "18", ".node-version": "20", ".tool-versions": "nodejs 22\n"}, []Pin{{".nvmrc", "node", "18"}}},
		"several pyenvs": {map[string]string{".python-version": "3.12.1\n3.11\n"}, []Pin{{".python-version", "python3", "3.12.1"}}},
		"ruby":           {map[string]string{".ruby-version": "ruby-3.3.0\n"}, []Pin{{".ruby-version", "ruby", "3.3.0"}}},
		"asdf": {
			map[string]string{".tool-versions": "# tools\nnodejs 20.1.0 18\nterraform 1.5\npython system\n"},
			[]Pin{{".tool-versions", "node", "20.1.0"}},
		},
		"corepack": {map[string]string{"package.json": `{"packageManager": "pnpm@9.1.0+sha512.abc"}`}, []Pin{{"package.json", "pnpm", "9.1.0"}}},
		"broken":   {map[string]string{"package.json": `{"packageManager": 3`, ".tool-versions": "node", ".nvmrc": ""}, nil},
		"hostile":  {map[string]string{"package.json": `{"packageManager": "../evil@1"}`, ".nvmrc": "\x1b[31m18"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
			}
			require.Equal(t, c.want, Pins(dir))
		})
	}
}

func TestALinkPinsNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Symlink("/etc/debian_version", filepath.Join(dir, ".nvmrc")))
	require.Empty(t, Pins(dir))
}

// The pin beats PATH where nvm has the version; else the conflict is told.
func TestThePinBeatsThePath(t *testing.T) {
	t.Parallel()
	dir := home(t)
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".nvmrc"), []byte("18\n"), 0o600))
	write(t, filepath.Join(dir, "bin/node"), "echo v20.11.1")
	env := []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}
	same, _, conflicts := Pinned(t.Context(), env, dir, []string{"node"})
	require.Equal(t, env, same)
	require.Equal(t, []string{".nvmrc names node 18, and your shell and commands have 20.11.1: install 18, or correct the file"}, conflicts)
	_, _, conflicts = Pinned(t.Context(), env, dir, []string{"python3"})
	require.Empty(t, conflicts, "no command uses it")

	require.True(t, switches(dir, "pnpm", "9.7.0"))
	require.False(t, switches(dir, "pnpm", "9.6.1"))
	require.False(t, switches(dir, "yarn", "1.22.22"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".yarnrc.yml"), []byte("yarnPath: .yarn/releases/yarn-4.5.0.cjs\n"), 0o600))
	require.True(t, switches(dir, "yarn", "1.22.22"))

	env = append(env, "NVM_DIR="+filepath.Join(dir, "nvm"))
	for _, version := range []string{"v18.9.0", "v18.20.4", "v180.1.0", "v20.0.0"} {
		write(t, filepath.Join(dir, "nvm/versions/node", version, "bin/node"), "echo "+version)
	}
	other, notes, conflicts := Pinned(t.Context(), env, dir, []string{"node"})
	require.Empty(t, conflicts)
	bin := filepath.Join(dir, "nvm/versions/node/v18.20.4/bin")
	require.Equal(t, bin+":"+filepath.Join(dir, "bin")+":/usr/bin:/bin", stage.Lookup(other, "PATH"))
	require.Equal(t, []string{"commands have the node in " + bin + ", because .nvmrc names 18"}, notes)
}

// Commands have no network to download the Go that a module names, and the one of the shell has it already.
func TestTheGoOfAModuleBeatsThePath(t *testing.T) {
	t.Parallel()
	dir := home(t)
	root := filepath.Join(dir, "mod/toolchain@v0.0.1-go1.26.9")
	write(t, filepath.Join(root, "bin/go"), "true")
	write(t, filepath.Join(dir, "bin/go"), `[ "$GOPROXY $*" = "off env GOROOT GOVERSION" ] && cat root`)
	env := []string{"PATH=" + filepath.Join(dir, "bin") + ":/usr/bin:/bin"}
	checkout := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(checkout, "root"), []byte(root+"\n"), 0o600))
	other, notes, _ := Pinned(t.Context(), env, checkout, []string{"go"})
	require.Equal(t, filepath.Join(root, "bin")+":"+filepath.Join(dir, "bin")+":/usr/bin:/bin", stage.Lookup(other, "PATH"))
	require.Equal(t, []string{"commands have the go in " + filepath.Join(root, "bin") + ", which the module names"}, notes)

	require.NoError(t, os.WriteFile(filepath.Join(checkout, "root"), []byte(dir), 0o600))
	same, notes, conflicts := Pinned(t.Context(), env, checkout, []string{"go"})
	require.Equal(t, env, same, "the one that is on PATH")
	require.Empty(t, notes)
	require.Empty(t, conflicts)

	// With GOTOOLCHAIN=local go tells the version that it has, whatever the module names.
	require.NoError(t, os.WriteFile(filepath.Join(checkout, "root"), []byte(dir+"\ngo1.26.8\n"), 0o600))
	for text, want := range map[string]string{
		"module x\n\ngo 1.26.8\n\ntoolchain go1.27.1\n": "go.mod names go 1.27.1, and your shell and commands have 1.26.8: install 1.27.1, or correct the file",
		"module x\ngo 1.28 // comment\n":                "go.mod names go 1.28, and your shell and commands have 1.26.8: install 1.28, or correct the file",
		"module x\ngo 1.26.8\n":                         "",
		"module x\n// go 1.99\nrequire go 1.99\n":       "",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(checkout, "go.mod"), []byte(text), 0o600))
		_, _, conflicts = Pinned(t.Context(), env, checkout, []string{"go"})
		require.Equal(t, want, strings.Join(conflicts, "\n"), text)
	}

	write(t, filepath.Join(dir, "bin/go"), "echo 'go: toolchain not available' >&2; exit 1")
	same, _, conflicts = Pinned(t.Context(), env, checkout, []string{"go"})
	require.Equal(t, env, same)
	require.Len(t, conflicts, 1)
	require.Contains(t, conflicts[0], "toolchain not available")
	_, notes, conflicts = Pinned(t.Context(), env, checkout, []string{"gofmt"})
	require.Empty(t, append(notes, conflicts...))
}

// Go starts a toolchain that a search path leads to: none of the repository, before a person has trusted that.
func TestNoProgramOfTheCheckoutTellsOfGo(t *testing.T) {
	t.Parallel()
	dir, checkout := home(t), t.TempDir()
	write(t, filepath.Join(dir, "bin/go"), "go1.99.0; dirname $(dirname $0)")
	for _, name := range []string{"go", "go1.99.0"} {
		write(t, filepath.Join(checkout, "tools", name), "touch "+filepath.Join(checkout, "started"))
	}
	tools := filepath.Join(checkout, "tools")
	for _, search := range []string{tools + ":" + filepath.Join(dir, "bin"), filepath.Join(dir, "bin") + ":" + tools} {
		Pinned(t.Context(), []string{"PATH=" + search + ":/usr/bin:/bin"}, checkout, []string{"go"})
		require.NoFileExists(t, filepath.Join(checkout, "started"))
	}
}
