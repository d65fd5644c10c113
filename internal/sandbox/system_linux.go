package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"divisi/internal/sandbox/stage"
)

// systemPaths are the paths of the machine that every command may read. Of /etc it is what programs need to run and nothing that
// could hold a secret: keys and settings of services, mail and registries are left out.
var systemPaths = strings.Fields(`/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix/store /gnu/store /var/lib/gems
	/sys/devices/system/cpu /sys/devices/system/node /sys/kernel/mm/transparent_hugepage /etc/alternatives /etc/bash.bashrc
	/etc/ca-certificates /etc/ca-certificates.conf /etc/crypto-policies /etc/debian_version /etc/fonts /etc/gai.conf
	/etc/host.conf /etc/inputrc /etc/java /etc/java-* /etc/ld.so.cache /etc/ld.so.conf /etc/ld.so.conf.d /etc/locale.alias
	/etc/localtime /etc/login.defs /etc/magic /etc/maven /etc/mime.types /etc/networks /etc/os-release /etc/perl /etc/php
	/etc/pki/ca-trust/extracted /etc/pki/tls/certs /etc/pki/tls/cert.pem /etc/pki/tls/openssl.cnf /etc/profile /etc/protocols
	/etc/python3 /etc/python3.* /etc/R /etc/redhat-release /etc/rpc /etc/services /etc/shells /etc/static /etc/ssl/cert.pem
	/etc/ssl/certs /etc/ssl/openssl.cnf /etc/terminfo /etc/timezone`)

// system lists those of systemPaths that this machine has, as parts of a root. A symbolic link stays one.
var system = sync.OnceValue(func() []stage.Mount {
	var found []stage.Mount
	for _, pattern := range systemPaths {
		paths, _ := filepath.Glob(pattern) // the patterns are well-formed
		for _, path := range paths {
			m := stage.Mount{From: path, To: path, Maybe: true}
			if link, err := os.Readlink(path); err == nil {
				m = stage.Mount{Link: link, To: path}
			}
			found = append(found, m)
		}
	}
	return found
})

// publicSettings is all of /etc that everybody may read: programs that find a file there which they must not read give up, and
// to root nothing is forbidden that Landlock allows.
var publicSettings = sync.OnceValue(func() []string {
	whole, parts := public("/etc")
	if whole {
		return []string{"/etc"}
	}
	return parts
})

// public reports whether every user may read all of a directory; if not, parts are the entries that every user may read.
func public(dir string) (whole bool, parts []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, nil
	}
	whole = true
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := e.Info()
		switch {
		case err != nil:
			whole = false
		case info.IsDir() && info.Mode()&0o5 == 0o5:
			all, some := public(path)
			if whole = whole && all; all {
				some = []string{path}
			}
			parts = append(parts, some...)
		case info.Mode().IsRegular() && info.Mode()&0o4 != 0:
			parts = append(parts, path)
		case info.Mode()&os.ModeSymlink == 0:
			whole = false
		}
	}
	return whole, parts
}

// toolVars are variables that name the home of a toolchain; what a command is told that way it may read.
var toolVars = strings.Fields(`RUSTUP_HOME GOROOT JAVA_HOME PYENV_ROOT NVM_DIR VOLTA_HOME VIRTUAL_ENV CONDA_PREFIX RBENV_ROOT`)

// beside lists the files that programs expect next to their bin directory.
var beside = strings.Fields(`lib lib32 lib64 libexec include conf jmods ssl etc/ssl release pyvenv.cfg`)

// toolchains are the directories of programs that an environment leads to.
func toolchains(env []string) []string {
	var paths []string
	for _, name := range toolVars {
		if dir := stage.Lookup(env, name); filepath.IsAbs(dir) {
			paths = append(paths, filepath.Clean(dir))
		}
	}
	for _, dir := range filepath.SplitList(stage.Lookup(env, "PATH")) {
		if !filepath.IsAbs(dir) || filepath.Clean(dir) == "/" {
			continue
		}
		dir = filepath.Clean(dir)
		paths = append(paths, dir)
		if prefix := filepath.Dir(dir); strings.HasSuffix(dir, "bin") && prefix != "/" {
			for _, name := range beside {
				paths = append(paths, filepath.Join(prefix, name))
			}
		}
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		_, err := os.Stat(path)
		return err != nil
	})
}

// text is that of a file of the machine, which may be a link to where commands do not look; a file that is not there has none.
func text(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data)
}

// files replace those of /etc that name the machine's users: a command finds only its own user in them, also as git's author.
func files(p Place) map[string]string {
	return map[string]string{
		"/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n" + userName + ":x:1000:1000::" + seenHome + ":/bin/sh\n" +
			"nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
		"/etc/group":         "root:x:0:\n" + userName + ":x:1000:\nnogroup:x:65534:\n",
		"/etc/hosts":         "127.0.0.1 localhost " + userName + "\n::1 localhost\n",
		seenGitConfig:        p.gitConfig(),
		"/etc/hostname":      userName + "\n",
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n",
	}
}

// userName is the name of user, group and machine inside.
const userName = "divisi"
