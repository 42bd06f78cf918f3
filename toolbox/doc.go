// Package toolbox keeps the protocol: it finds out which wish a call is, mints and keeps the operation key, writes the
// journal before every external call, sends, stores what was proved, looks before it retries, and tells the caller what the
// journal holds and no more. The ten steps of a call are numbered in call.go as in the design.
//
// It refuses to send what it cannot record, to hang an attempt on its caller, and to take anything that a model writes for a
// key, a state or an approval. It waits only through its Clock and decides nothing itself: policy does.
//
// It imports canonical, journal and policy, and is the one door to invopop/jsonschema and santhosh-tekuri/jsonschema.
package toolbox
