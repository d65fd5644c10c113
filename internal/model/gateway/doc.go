// Package gateway passes a coding agent's calls on to the service of its models. Its input are requests in the forms of
// Anthropic, OpenAI and Gemini, with the token of one attempt in place of a key; its output are the service's answers, byte for
// byte, and the use of each call. It holds the key, keeps the budget and waits out rate limits. It stores nothing, and judges
// no content.
package gateway
