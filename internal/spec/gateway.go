package spec

import (
	"slices"
	"strings"
)

// The forms of services of models that Divisi passes the calls of a command on to; see Role.Gateway.
const (
	GatewayAnthropic = "anthropic"
	GatewayGemini    = "gemini"
	GatewayOpenAI    = "openai"
)

// GatewayVars are the variables by which the programs of a form know where its service is, and their key. Login, where there is
// one, has a token of a person's login that is as good as a key: no program of an attempt is given it, nor one in its name.
type GatewayVars struct {
	Address string
	Keys    []string
	Login   string
}

var gatewayVars = map[string]GatewayVars{
	GatewayAnthropic: {"ANTHROPIC_BASE_URL", []string{"ANTHROPIC_API_KEY"}, "CLAUDE_CODE_OAUTH_TOKEN"},
	GatewayGemini:    {"GOOGLE_GEMINI_BASE_URL", []string{"GEMINI_API_KEY"}, ""},
	GatewayOpenAI:    {"OPENAI_BASE_URL", []string{"OPENAI_API_KEY", "CODEX_API_KEY"}, ""},
}

// GatewayVarsOf are the variables of a form; those of an unknown one are empty.
func GatewayVarsOf(form string) GatewayVars { return gatewayVars[form] }

func (r *Role) gatewayProblems(v *problems) {
	vars := gatewayVars[r.Gateway]
	switch {
	case r.Gateway == "":
		if len(r.Models) > 0 {
			v.addf("models", "", "models bounds what a command calls through its gateway, and role %q has none", r.Name)
		}
	case r.Executor != ExecutorCommand || len(r.Chain) > 0:
		v.addf("gateway", "", "gateway needs %s as the only executor, and role %q has %s",
			ExecutorCommand, r.Name, strings.Join(r.Executors(), ", "))
	case len(vars.Keys) > 0 && !slices.ContainsFunc(r.Secrets, func(name string) bool {
		return name == vars.Login || slices.Contains(vars.Keys, name)
	}):
		v.addf("secrets", "", "the gateway of role %q needs the key of its service: name %s among its secrets",
			r.Name, strings.Join(vars.Keys, " or "))
	}
}
