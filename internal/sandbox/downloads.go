package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox/stage"
)

// certificateVars name files or directories with the certificates of authorities; addressVars name where packages come from.
var (
	certificateVars = strings.Fields(`SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
		GIT_SSL_CAINFO PIP_CERT CARGO_HTTP_CAINFO`)
	addressVars = strings.Fields(`npm_config_registry NPM_CONFIG_REGISTRY YARN_NPM_REGISTRY_SERVER PIP_INDEX_URL
		PIP_EXTRA_INDEX_URL PIP_TRUSTED_HOST UV_DEFAULT_INDEX UV_INDEX_URL`)
)

// addressFiles are settings of the user's home that name where packages come from, and the variable that each becomes.
var addressFiles = []struct {
	path string
	line *lazyregexp.Regexp
	name func(key string) string
}{
	{".npmrc", npmLine, func(key string) string { return "npm_config_" + key }},
	{".config/pip/pip.conf", pipLine, pipName},
	{".pip/pip.conf", pipLine, pipName},
}

var (
	npmLine = lazyregexp.New(`(?m)^\s*((?:@[\w.-]+:)?registry)\s*=\s*(\S+)\s*$`)
	pipLine = lazyregexp.New(`(?m)^\s*(index-url|extra-index-url|trusted-host)\s*[=:]\s*(\S+)\s*$`)
)

func pipName(key string) string { return "PIP_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_")) }

// Downloads are the user's settings that a command needs to download as the user's own tools do, from the environment and from
// the home that it names. leftOut names the settings that hold a login: a command sees none.
func Downloads(environ []string) (env, readable, leftOut []string) {
	add := func(name, value, from string) {
		switch {
		case value == "" || slices.ContainsFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") }):
		case slices.ContainsFunc(strings.Fields(value), hasLogin) || strings.Contains(value, "${"):
			leftOut = append(leftOut, from)
		default:
			env = append(env, name+"="+value)
		}
	}
	for _, name := range certificateVars {
		if path := stage.Lookup(environ, name); filepath.IsAbs(path) {
			env, readable = append(env, name+"="+path), append(readable, path)
		}
	}
	for _, name := range addressVars {
		add(name, stage.Lookup(environ, name), name)
	}
	home := stage.Lookup(environ, "HOME")
	for _, f := range addressFiles {
		path := filepath.Join(home, f.path)
		data, err := os.ReadFile(path)
		if err != nil || home == "" {
			continue // the user has no such settings
		}
		for _, found := range f.line.FindAllStringSubmatch(string(data), -1) {
			add(f.name(found[1]), found[2], found[1]+" in "+path)
		}
	}
	return env, readable, leftOut
}
