// Package model calls language models. Its input is a request in the types of Gemini's API, its output one streamed answer or
// one error with a class. A Gemini sends a request once; a client made by New runs the loop around any Model: reserve, wait,
// send, classify, then retry, continue, fall back to the next candidate, or wait for the service. It never decides what an
// agent does with an answer.
//
// Contents and configurations are those of google.golang.org/genai, so that nothing is lost on the way. Every failure is
// an *Error whose class decides what happens next.
//
// The SDK writes a few warnings through the standard library's logger. They are avoided, not redirected, because
// redirecting would change the logger of the whole process: streams are re-framed before the SDK parses them, read errors
// are kept aside and shown to the SDK as a plain end, and closing a body never fails. One line cannot be avoided: when both
// GOOGLE_API_KEY and GEMINI_API_KEY are set, the SDK says so once while a client is made.
package model
