package model

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// accounted is a model that knows which accounts of services it is served under. Quotas belong to accounts: processes that use
// one account tell each other of them.
type accounted interface {
	// Accounts are the accounts by the name of the model; "" is for every name that is not there. Without a key there is none.
	Accounts() map[string]string
}

// Account names an account of a service without telling its key. It is empty where there is no key: what a service on one machine
// says does not concern another machine.
func Account(provider, baseURL, key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{"divisi account", provider, strings.TrimRight(baseURL, "/"), key}, "\n")))
	return hex.EncodeToString(sum[:8])
}

// Accounts implements accounted.
func (g *Gemini) Accounts() map[string]string { return map[string]string{"": g.account} }

// Accounts implements accounted.
func (r *Router) Accounts() map[string]string {
	all := map[string]string{}
	for name, m := range r.routes {
		all[name] = accountsOf(m)[""]
	}
	all[""] = accountsOf(r.others)[""]
	return all
}

func accountsOf(m Model) map[string]string {
	if a, ok := m.(accounted); ok {
		return a.Accounts()
	}
	return nil
}
