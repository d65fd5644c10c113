package wire

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"

	"divisi/internal/spec"
)

// Sign makes a receipt one of a worker, which vouches for all of it with its key. Nothing of it may change from then on.
func Sign(run, worker string, key ed25519.PrivateKey, r *spec.Receipt) error {
	r.Worker = worker
	message, err := signed(run, *r)
	if err != nil {
		return fmt.Errorf("sign the receipt of gate %s: %w", r.Gate, err)
	}
	r.Signature = ed25519.Sign(key, message)
	return nil
}

// Verify returns why a receipt is not what a worker of the run has signed; keys are the public ones of its workers.
func Verify(run string, keys map[string][]byte, r spec.Receipt) error {
	key, known := keys[r.Worker]
	switch {
	case r.Worker == "" || len(r.Signature) == 0:
		return errors.New("no worker has signed it")
	case !known || len(key) != ed25519.PublicKeySize:
		return fmt.Errorf("the run knows no key of worker %.40q", r.Worker)
	}
	signature := r.Signature
	message, err := signed(run, r)
	if err != nil {
		return err
	}
	if !ed25519.Verify(key, message, signature) {
		return fmt.Errorf("it differs from the receipt that worker %.40s signed in this run", r.Worker)
	}
	return nil
}

// signed is the signed content of a receipt: the run, so that it counts in no other one, and all that the log keeps of it.
func signed(run string, r spec.Receipt) ([]byte, error) {
	r.Signature = nil
	// What is no UTF-8 is written in another way once it was read.
	var kept spec.Receipt
	data, err := json.Marshal(r)
	if err == nil {
		err = json.Unmarshal(data, &kept)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal([]any{"divisi receipt", run, kept})
}
