package member

import (
	"encoding/base64"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

// JoinUser is the user that connects with the secret of a token as the password.
const JoinUser = "join"

// Check implements server.Authentication: a member signs the server's nonce with its key, and who has a token may ask to become
// one. Each gets the permissions of its role alone.
func (r *Registry) Check(client server.ClientAuthentication) bool {
	o := client.GetOpts()
	if client.Kind() != server.CLIENT {
		return false
	}
	if o.Nkey == "" {
		return r.checkToken(client, o)
	}
	m, ok := r.ByKey(o.Nkey)
	if !ok || verify(o.Nkey, client.GetNonce(), o.Sig) != nil {
		return r.deny("a key that is not known: " + o.Nkey)
	}
	client.RegisterUser(&server.User{Username: m.Name, Permissions: permissions(m)})
	return true
}

func (r *Registry) checkToken(client server.ClientAuthentication, o *server.ClientOpts) bool {
	if o.Username != JoinUser || o.Password == "" {
		return r.deny("neither a key nor a token")
	}
	ends, ok := r.opens(o.Password)
	if !ok {
		return r.deny("a token that was used, has ended or is of another server")
	}
	client.RegisterUser(&server.User{Username: JoinUser, Permissions: joining(o.Password), ConnectionDeadline: ends})
	return true
}

// deny returns false.
func (r *Registry) deny(who string) bool {
	if r.denied != nil {
		r.denied(who)
	}
	return false
}

func verify(key string, nonce []byte, signature string) error {
	sig, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return fmt.Errorf("decode the signature: %w", err)
	}
	public, err := nkeys.FromPublicKey(key)
	if err != nil {
		return fmt.Errorf("read the public key: %w", err)
	}
	return public.Verify(nonce, sig)
}
