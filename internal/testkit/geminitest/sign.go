package geminitest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"google.golang.org/genai"
)

// skipSignature is the documented stand-in for a signature that is not known any more.
const skipSignature = "skip_thought_signature_validator"

// partDigest names what a signature is for: it stays the same when the part goes through JSON.
func partDigest(p *genai.Part) string {
	what := "text\n" + p.Text
	if f := p.FunctionCall; f != nil {
		what = "call\n" + f.Name + "\n" + canonical(f.Args)
	}
	if p.Thought {
		what = "thought\n" + what
	}
	sum := sha256.Sum256([]byte(what))
	return hex.EncodeToString(sum[:12])
}

// canonical is the JSON of arguments as it looks after a round trip: keys sorted, all numbers floating.
func canonical(args map[string]any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		return err.Error()
	}
	var back map[string]any
	if err := json.Unmarshal(raw, &back); err != nil {
		return err.Error()
	}
	if len(back) == 0 {
		return "{}"
	}
	out, err := json.Marshal(back)
	if err != nil {
		return err.Error()
	}
	return string(out)
}

// sign makes the signature of one part of an answer.
func sign(p *genai.Part) []byte { return []byte("sig:" + partDigest(p)) }

// signedFor reports whether a signature belongs to the part that it came back on.
func signedFor(p *genai.Part) bool {
	sig := string(p.ThoughtSignature)
	return sig == skipSignature || sig == "sig:"+partDigest(p)
}

// callID is the id of the i-th call of an answer: unique in a run, the same in every run of the same script.
func callID(r *Request, i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%s\n%d\n%d\n%d", r.Run, r.Task, r.Purpose, r.Attempt, r.Turn, i))
	return "call_" + hex.EncodeToString(sum[:8])
}
