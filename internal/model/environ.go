package model

import (
	"cmp"
	"net/url"
	"os"
	"strings"

	"google.golang.org/genai"
)

const defaultBaseURL = "https://generativelanguage.googleapis.com/"

// target is where a client sends and with what credentials, resolved as Google documents it.
type target struct {
	vertex  bool
	key     string
	baseURL string // empty on Vertex: the SDK derives it from the location
	from    string // the variable that baseURL came from
	// custom reports that the base URL is not Google's own.
	custom bool
	// adc reports that Vertex needs application default credentials; place is the project there, and its location.
	adc   bool
	place string
}

// resolve reads the environment: GOOGLE_API_KEY wins over GEMINI_API_KEY, GOOGLE_GENAI_USE_ENTERPRISE over
// GOOGLE_GENAI_USE_VERTEXAI, an option over everything.
func resolve(opt Options) (target, *Error) {
	env := opt.Getenv
	if env == nil {
		env = os.Getenv
	}
	t := target{vertex: useVertex(env), key: opt.APIKey}
	if t.vertex {
		return t.onVertex(opt, env)
	}
	if t.key == "" {
		t.key = env("GOOGLE_API_KEY")
	}
	if t.key == "" {
		t.key = env("GEMINI_API_KEY")
	}
	t.address(opt, env, "GOOGLE_GEMINI_BASE_URL")
	t.baseURL = cmp.Or(t.baseURL, defaultBaseURL)
	t.custom = strings.TrimRight(t.baseURL, "/") != strings.TrimRight(defaultBaseURL, "/")
	if t.key == "" {
		return t, &Error{Class: Auth, Message: "no API key: set GEMINI_API_KEY (or GOOGLE_API_KEY), " +
			"or GOOGLE_GENAI_USE_VERTEXAI=true with GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION"}
	}
	return t, t.check()
}

// onVertex leaves project and location to the SDK and finds out only whether it will need default credentials, which it
// looks for itself only when it also makes the HTTP client.
func (t target) onVertex(opt Options, env func(string) string) (target, *Error) {
	t.address(opt, env, "GOOGLE_VERTEX_BASE_URL")
	t.custom = t.baseURL != ""
	location := cmp.Or(env("GOOGLE_CLOUD_LOCATION"), env("GOOGLE_CLOUD_REGION"))
	place := cmp.Or(env("GOOGLE_CLOUD_PROJECT"), location)
	if env("GOOGLE_CLOUD_PROJECT") != "" {
		t.place = env("GOOGLE_CLOUD_PROJECT") + " " + location
	}
	t.adc = t.key == "" && place != "" && !t.custom
	if t.key == "" && place == "" {
		t.key = cmp.Or(env("GOOGLE_API_KEY"), env("GEMINI_API_KEY"))
	}
	return t, t.check()
}

// address takes the base URL from an option, else from a variable.
func (t *target) address(opt Options, env func(string) string, name string) {
	t.baseURL = opt.BaseURL
	if t.baseURL == "" && env(name) != "" {
		t.baseURL, t.from = env(name), name
	}
}

// check refuses an address that nothing can be sent to, and a key that cannot be a header's value: mostly a line break from
// reading a file.
func (t target) check() *Error {
	u, err := url.Parse(t.baseURL)
	if t.baseURL != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		// The address is not shown: it may contain a password.
		return Invalidf("%s is not of the form https://host or http://host:port: set it again, or unset it",
			cmp.Or(t.from, "the base URL"))
	}
	if strings.ContainsFunc(t.key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &Error{Class: Auth, Message: "the API key contains a space, " +
			"a line break or a character that no key has: set it again"}
	}
	return nil
}

// account is the owner of the quotas: a key, or on Vertex a project.
func (t target) account() string {
	if t.vertex {
		return Account("vertex", t.baseURL, cmp.Or(t.place, t.key))
	}
	return Account("gemini", t.baseURL, t.key)
}

func (t target) backend() genai.Backend {
	if t.vertex {
		return genai.BackendVertexAI
	}
	return genai.BackendGeminiAPI
}

func useVertex(env func(string) string) bool {
	on := func(v string) bool { return v == "1" || strings.EqualFold(v, "true") }
	if v := env("GOOGLE_GENAI_USE_ENTERPRISE"); v != "" {
		return on(v)
	}
	return on(env("GOOGLE_GENAI_USE_VERTEXAI"))
}
