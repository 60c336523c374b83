// Package fold decides what a model is shown of a conversation.
//
// A [Fold] is one recorded decision: these messages, or this block, are replaced by that
// stub. A [Folding] is a conversation with the folds in force; it renders the view that is
// sent. A [Policy] says which levers are pulled on which occasion, and a [Lever] is a value
// that proposes folds; packages policy and lever have pleat's own.
//
// [Make] plans. It copies the folds in force into a [Draft], pulls the levers of the
// occasion one after the other, and each adds folds to the draft until the view meets the
// draft's goal. What comes out is a [Plan]: data that changes nothing until a session
// stores it and calls [Folding.Enter]. That begins an epoch. Between two epochs a view only
// grows at its end, so that the provider's prompt cache stays warm. An [EpochData] lists
// every fold in force, so taking an epoch back means entering an older list again.
//
// Planning is pure: the same conversation, folds and options give the same plan. Folds
// hold no copy of what they replace; the store does, and package recall gives it back.
package fold
