package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// standIn is the program in the archives of these tests.
const standIn = "#!/bin/sh\necho divisi version 1.2.3\n"

// published is a directory of archives behind an address.
type published map[string][]byte

func publish(t *testing.T, program string) published {
	t.Helper()
	p := published{}
	name := fmt.Sprintf("divisi_%s_%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	p[name] = packed(t, program)
	p["SHA256SUMS"] = fmt.Appendf(nil, "%x  other.tar.gz\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(p[name]), name)
	return p
}

func packed(t *testing.T, program string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: "./divisi/divisi", Mode: 0o755, Size: int64(len(program))}))
	_, err := w.Write([]byte(program))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	return out.Bytes()
}

// archive is the name of this machine's.
func (p published) archive(t *testing.T) string {
	t.Helper()
	for name := range p {
		if strings.HasSuffix(name, ".tar.gz") {
			return name
		}
	}
	require.Fail(t, "no archive")
	return ""
}

// serve cuts a file after half of it where its name has a mark.
func (p published) serve(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/files/")
		data, is := p[name]
		if !is {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if _, cut := p["cut "+name]; cut {
			data = data[:len(data)/2]
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/files"
}

// tools is a PATH with the system's programs but for some, and with others in the place of some.
func tools(t *testing.T, without []string, instead map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range instead {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755))
	}
	for _, name := range []string{
		"sh", "uname", "curl", "wget", "sha256sum", "shasum", "openssl", "awk", "mktemp", "mkdir", "rmdir", "rm", "mv", "cat", "tar",
		"gzip", "chmod",
	} {
		path, err := exec.LookPath(name)
		if err != nil || strings.Contains(" "+strings.Join(without, " ")+" ", " "+name+" ") || instead[name] != "" {
			continue
		}
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}
	return dir
}

// install runs the script in an empty home, and returns what it printed.
func install(t *testing.T, path, home string, env []string, args ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../../install.sh")
	require.NoError(t, err)
	c := exec.CommandContext(t.Context(), filepath.Join(path, "sh"), append([]string{script}, args...)...)
	c.Env = append([]string{"PATH=" + path, "HOME=" + home, "NO_PROXY=127.0.0.1"}, env...)
	c.Dir = home
	out, err := c.CombinedOutput()
	return string(out), err
}

// left are the files and directories below a directory.
func left(t *testing.T, dir string) (out []string) {
	t.Helper()
	require.NoError(t, filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if path != dir {
			out = append(out, path)
		}
		return err
	}))
	return out
}

func needsDownloader(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the script is for Linux and macOS")
	}
	for _, name := range []string{"curl", "wget"} {
		if _, err := exec.LookPath(name); err == nil {
			return
		}
	}
	t.Skip("neither curl nor wget is here")
}

func TestInstall(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	path, home := tools(t, nil, nil), t.TempDir()
	base := publish(t, standIn).serve(t)
	out, err := install(t, path, home, nil, base+"/")
	require.NoError(t, err, out)
	program := filepath.Join(home, ".local/bin/divisi")
	require.Contains(t, out, "installed "+program+": divisi version 1.2.3\n")
	require.Contains(t, out, `not on your PATH yet: export PATH="`+filepath.Dir(program)+`:$PATH"`)
	require.Contains(t, out, "next: divisi demo")
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	require.Equal(t, standIn, string(data))
	info, err := os.Stat(program)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o755), info.Mode().Perm())
	require.Len(t, left(t, home), 3, "nothing but .local/bin/divisi")

	// Another directory, and the address by a variable; a program that is there is replaced.
	other := filepath.Join(home, "my tools")
	require.NoError(t, os.Mkdir(other, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(other, "divisi"), []byte("old"), 0o600))
	out, err = install(t, path, home, []string{"DIVISI_BASE_URL=" + base}, "--dir", other)
	require.NoError(t, err, out)
	require.Equal(t, []string{filepath.Join(other, "divisi")}, left(t, other))
}

func TestInstallByWget(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	if _, err := exec.LookPath("wget"); err != nil {
		t.Skip("no wget")
	}
	out, err := install(t, tools(t, []string{"curl"}, nil), t.TempDir(), nil, publish(t, standIn).serve(t))
	require.NoError(t, err, out)
}

// What cannot be installed leaves nothing behind, and the message reports what to do.
func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	good := publish(t, standIn)
	wrong, cut, missing, unnamed := publish(t, standIn), publish(t, standIn), publish(t, standIn), publish(t, standIn)
	name := good.archive(t)
	wrong[name] = packed(t, "#!/bin/sh\necho other\n")
	cut["cut "+name] = nil
	delete(missing, name)
	unnamed["SHA256SUMS"] = []byte("00  other.tar.gz\n")
	broken := publish(t, "#!/bin/sh\necho does not run >&2\nexit 1\n")
	for _, c := range []struct {
		name    string
		p       published
		without []string
		instead map[string]string
		args    []string
		want    string
	}{
		{"wrong sum", wrong, nil, nil, nil, "Nothing was installed. Try again"},
		{"cut download", cut, nil, nil, nil, "try again"},
		{"no archive", missing, nil, nil, nil, "try again"},
		{"not named", unnamed, nil, nil, nil, "does not name " + name + ": check the address"},
		{"no sums", published{}, nil, nil, nil, "SHA256SUMS: check the address"},
		{"does not start", broken, nil, nil, nil, "does not start on this machine: does not run"},
		{"system", good, nil, map[string]string{"uname": "#!/bin/sh\necho Plan9\n"}, nil, "no archive for Plan9, only for Linux and macOS"},
		{
			"architecture", good, nil,
			map[string]string{"uname": "#!/bin/sh\n[ $1 = -s ] && echo Linux || echo riscv64\n"},
			nil,
			"no archive for riscv64",
		},
		{"no downloader", good, []string{"curl", "wget"}, nil, nil, "neither curl nor wget is here: install one of them"},
		{"no sum program", good, []string{"sha256sum", "shasum", "openssl"}, nil, nil, "install sha256sum, shasum or openssl"},
		{"no tar", good, []string{"tar"}, nil, nil, "cannot unpack"},
		{"no rights", good, nil, nil, []string{"--dir", "/proc/divisi"}, "name a directory that you can write with --dir"},
		{"directory is a file", good, nil, nil, []string{"--dir", "/etc/passwd"}, "name a directory that you can write with --dir"},
		{"no address", good, nil, nil, []string{"ftp://files.example.com"}, "ftp://files.example.com is no address"},
		{"option", good, nil, nil, []string{"--force"}, "unknown option --force"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			base := []string{"DIVISI_BASE_URL=" + c.p.serve(t)}
			out, err := install(t, tools(t, c.without, c.instead), home, base, c.args...)
			require.Error(t, err, out)
			require.Contains(t, out, c.want)
			require.Empty(t, left(t, home))
		})
	}
}

// A program that is there stays when the new one is refused.
func TestInstallKeepsWhatWasThere(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	home, p := t.TempDir(), publish(t, standIn)
	p[p.archive(t)] = []byte("other")
	bin := filepath.Join(home, ".local/bin")
	require.NoError(t, os.MkdirAll(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "divisi"), []byte("old"), 0o755))
	out, err := install(t, tools(t, nil, nil), home, nil, p.serve(t))
	require.Error(t, err, out)
	require.Equal(t, []string{filepath.Join(bin, "divisi")}, left(t, bin))
	data, err := os.ReadFile(filepath.Join(bin, "divisi"))
	require.NoError(t, err)
	require.Equal(t, "old", string(data))
}

// A directory that has the name of the program is not filled with it.
func TestInstallRefusesADirectoryOfTheName(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "a/divisi"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(home, "b"), 0o755))
	require.NoError(t, os.Symlink("../a", filepath.Join(home, "b/divisi")))
	for _, dir := range []string{"a", "b"} {
		out, err := install(t, tools(t, nil, nil), home, nil, "--dir", dir, publish(t, standIn).serve(t))
		require.Error(t, err, out)
		require.Contains(t, out, dir+"/divisi is a directory")
	}
	require.Len(t, left(t, home), 4)
}

// A script that a shell reads from a download that was cut short does nothing.
func TestInstallCutShort(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	script, err := os.ReadFile("../../install.sh")
	require.NoError(t, err)
	path, home, base := tools(t, nil, nil), t.TempDir(), publish(t, standIn).serve(t)
	lines := strings.SplitAfter(string(script), "\n")
	for n := range len(lines) - 2 { // the last one begins it, and nothing is behind its end
		c := exec.CommandContext(t.Context(), filepath.Join(path, "sh"), "-s", "--", base)
		c.Stdin = strings.NewReader(strings.Join(lines[:n], ""))
		c.Env, c.Dir = []string{"PATH=" + path, "HOME=" + home}, home
		_ = c.Run() // it can be a syntax error
		require.Empty(t, left(t, home), "the first %d lines install something", n)
	}
}

// hurried is a downloader that takes one second for every limit of time that it is given, and tries once.
const hurried = `#!/bin/sh
option=
for a do
  shift
  case $option in
    --connect-timeout | --speed-time | -T | -t) a=1 ;;
    --retry) a=0 ;;
  esac
  option=$a
  set -- "$@" "$a"
done
exec %s "$@"
`

// A server that stalls ends the installation, and does not hold it.
func TestInstallFromAServerThatStalls(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("0"))
		_ = http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done(): // the downloader gave up
		case <-time.After(patience):
		}
	}))
	t.Cleanup(s.Close)
	for name, other := range map[string]string{"curl": "wget", "wget": "curl"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skip("no " + name)
			}
			home := t.TempDir()
			path := tools(t, []string{other}, map[string]string{name: fmt.Sprintf(hurried, program)})
			out, err := install(t, path, home, nil, s.URL)
			require.Error(t, err)
			require.Contains(t, out, "cannot read "+s.URL+"/SHA256SUMS: check the address")
			require.Empty(t, left(t, home))
		})
	}
}

func TestInstallNeedsAnAddress(t *testing.T) {
	t.Parallel()
	needsDownloader(t)
	out, err := install(t, tools(t, nil, nil), t.TempDir(), nil)
	require.Error(t, err, out)
	require.Contains(t, out, "no address: name it as an argument, or in DIVISI_BASE_URL")
}
