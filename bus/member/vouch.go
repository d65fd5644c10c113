package member

import (
	"errors"
	"fmt"

	"github.com/nats-io/nkeys"

	"divisi/internal/lazyregexp"
)

// nonce is what servers have their clients sign: raw base64 for URLs.
var nonce = lazyregexp.New(`^[A-Za-z0-9_-]{1,128}$`)

// vouching begins what a member vouches for. No nonce has it: a server cannot have a member vouch by asking who it is.
const vouching = "divisi vouches\n"

// Vouch signs a message for those who know the key of the member.
func (l *Login) Vouch(message []byte) ([]byte, error) {
	return l.sign(append([]byte(vouching), message...))
}

// Vouched returns why the owner of a public key has not vouched for a message.
func Vouched(key string, message, signature []byte) error {
	public, err := nkeys.FromPublicKey(key)
	if err != nil || !nkeys.IsValidPublicUserKey(key) {
		return fmt.Errorf("%.80q is no public key of a member", key)
	}
	if public.Verify(append([]byte(vouching), message...), signature) != nil {
		return errors.New("the signature is of another key, or of something else")
	}
	return nil
}
