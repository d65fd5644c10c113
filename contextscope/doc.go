// Package contextscope holds the types that the packages around an agent's context share: an event of the log, a session of
// one agent, the pieces of material that a request can have, a compiled request and its trace. Its packages turn the log into
// what one model call sees: content has helpers for genai.Content; narrative, pairing, slice and compaction do one step each;
// compile puts them together; adk does so for a session of another program. All of them are pure: they never call NATS, git or
// HTTP, and contents are shared and never changed.
package contextscope
