package sandbox

import (
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/sandbox/stage"
)

// proxyPort is the port of a command's own loopback where it finds the proxy. It is always the same, so that build tools find
// what they built with the same environment, and none that a program gets when it asks for any.
const proxyPort = 61080

// proxyVars name proxies. Some programs know the names in small letters alone.
var proxyVars = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}

// withOwnProxy points the programs of a networked command at the proxy in its namespace. ALL_PROXY names HTTP too: libraries give
// up at an address for SOCKS5 when they lack the part for that.
func (c Command) withOwnProxy() Command {
	if !c.Network {
		return c
	}
	port := strconv.Itoa(proxyPort)
	java := "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" + port + " -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=" + port
	env := append([]string{"GRADLE_OPTS=" + java, "NODE_USE_ENV_PROXY=1"}, c.Env...)
	// Maven from 3.9 on reads these only if told to; of two settings of one property the last wins.
	maven := java + " -Daether.connector.http.useSystemProperties=true " + stage.Lookup(c.Env, "MAVEN_OPTS")
	env = append(env, "MAVEN_OPTS="+strings.TrimSpace(maven))
	for _, name := range append([]string{"YARN_HTTP_PROXY", "YARN_HTTPS_PROXY"}, proxyVars...) {
		env = append(env, name+"=http://127.0.0.1:"+port)
	}
	own := "localhost,127.0.0.1,::1"
	if c.Loopback {
		own = "" // the loopback that is meant is the machine's
	}
	c.Env = append(env, "NO_PROXY="+own, "no_proxy="+own)
	return c
}

// withUsersProxies names the user's proxies to a command that has the machine's own network, but for those with a password.
func (c Command) withUsersProxies() Command {
	if !c.Network {
		return c
	}
	env := slices.Clone(c.Env)
	for _, name := range append([]string{"NO_PROXY", "no_proxy"}, proxyVars...) {
		if value := os.Getenv(name); value != "" && !hasLogin(value) {
			env = slices.Insert(env, 0, name+"="+value)
		}
	}
	c.Env = env
	return c
}

// hasLogin reports whether an address holds a user's name or a password, or cannot be read.
func hasLogin(address string) bool {
	u, err := url.Parse(address)
	return err != nil || u.User != nil || u.Host == "" && strings.Contains(address, "@")
}
