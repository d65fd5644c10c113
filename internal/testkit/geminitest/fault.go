package geminitest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// refusals are the faults that take the place of the answer.
var refusals = map[string]struct {
	status       int
	word, reason string
	message      string
}{
	"404":       {http.StatusNotFound, "NOT_FOUND", "", "models/unknown is not found for API version v1beta."},
	"429":       {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "", "You exceeded your current quota."},
	"500":       {http.StatusInternalServerError, "INTERNAL", "", "An internal error has occurred."},
	"503":       {http.StatusServiceUnavailable, "UNAVAILABLE", "", "The model is overloaded. Please try again later."},
	"quota_day": {http.StatusTooManyRequests, "RESOURCE_EXHAUSTED", "", "You exceeded your current quota."},
	"too_long": {
		http.StatusBadRequest, "INVALID_ARGUMENT", "",
		"The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
	},
	"wrong_key": {
		http.StatusBadRequest, "INVALID_ARGUMENT", "API_KEY_INVALID",
		"API key not valid. Please pass a valid API key.",
	},
	"bad_signature": {http.StatusBadRequest, "INVALID_ARGUMENT", "", "Corrupted thought signature."},
}

// streamFaults are the faults in the middle or at the end of a stream.
var streamFaults = []string{
	"clean_cut",               // ends without a finish reason
	"continuation",            // ends half way with CONTINUATION; the next request brings the token
	"cut",                     // the connection breaks half way
	"empty",                   // 200 and nothing
	"empty_candidate",         // STOP without parts
	"error",                   // an error event half way
	"hang",                    // half the answer, then silence
	"malformed_function_call", // MALFORMED_FUNCTION_CALL
	"malformed_json",          // half an event
	"max_tokens",              // MAX_TOKENS after half of the text
	"other",                   // OTHER
	"prompt_blocked",          // no candidates, promptFeedback
	"safety",                  // SAFETY
	"stall",                   // silence
}

// Faults lists the faults that a script can ask for, sorted.
func Faults() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(refusals)), streamFaults...)))
}

// refuse makes the reply of a refusal.
func refuse(a Answer) Reply {
	f := refusals[a.Fault]
	var details []any
	if f.reason != "" {
		details = append(details, map[string]any{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.reason, "domain": "googleapis.com",
		})
	}
	if f.status == http.StatusTooManyRequests {
		details = append(details, quotaDetails(a)...)
	}
	return errorReply(f.status, f.word, f.message, details)
}

func quotaDetails(a Answer) []any {
	quota := a.Quota
	switch {
	case quota != "":
	case a.Fault == "quota_day":
		quota = "GenerateRequestsPerDayPerProjectPerModel"
	default:
		quota = "GenerateRequestsPerMinutePerProjectPerModel"
	}
	delay := a.RetryDelay.Std()
	if delay == 0 {
		delay = time.Second
	}
	return []any{
		map[string]any{
			"@type": "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []any{map[string]any{
				"quotaMetric": "generativelanguage.googleapis.com/generate_content_requests",
				"quotaId":     quota, "quotaValue": "10",
			}},
		},
		map[string]any{
			"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%gs", delay.Seconds()),
		},
	}
}

func errorReply(status int, word, message string, details []any) Reply {
	return Reply{Status: status, Body: errorBody(status, word, message, details)}
}

func errorBody(status int, word, message string, details []any) []byte {
	e := map[string]any{"code": status, "message": message, "status": word}
	if len(details) > 0 {
		e["details"] = details
	}
	return mustJSON(map[string]any{"error": e})
}

// mustJSON writes what this package has built itself, or a script has decoded from YAML: it always can be written.
func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("geminitest: %v", err))
	}
	return raw
}
