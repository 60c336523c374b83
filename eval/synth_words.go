package eval

import "strings"

// The words that projects are made of. A session draws a few of each, so that two
// sessions speak of different things.
var (
	synthNouns = strings.Fields(`account address agent alarm archive artifact asset auction badge balance banner basket batch beacon
		binding bridge broker bucket buffer bundle cache calendar campaign capsule cargo carrier catalog channel chart checkpoint chunk
		claim cluster collector column command contract coupon courier cursor customer dataset deposit device digest discount docket
		domain draft driver edge enclave endpoint envelope episode event export extractor feed fence fixture flag folder forecast frame
		gateway glyph grant graph guard harbor heartbeat hook import index ingest inspector intake invoice journal kernel key label
		lane lattice ledger lease lens license listener locale locker manifest marker market matrix member merchant meter migration
		mirror module monitor nonce notice offer operator orbit order outbox packet parcel partition patch payload payout permit
		pipeline planner pointer pool portal prefix presence probe profile quota rack radar receipt record region registry relay
		replica report reservation resolver retry rollup roster route sample scanner schedule schema segment sensor session shard
		shipment signal sink sketch slot snapshot socket spool stage station stream subscriber summary supplier sweep switch symbol
		tariff tenant ticket timer token topic tracker transfer trigger tunnel vault vector vendor venue voucher wallet warehouse
		watcher webhook widget window worker`)
	synthVerbs = strings.Fields(`accept acquire adjust align allocate append apply assign attach audit bind build cancel capture
		classify clone close collect commit compact compare compose compute confirm convert count decode defer derive detach dispatch
		drain emit encode enqueue evict expand expire fetch filter finish flatten flush forward gather grant hydrate infer insert
		inspect join launch link load locate lookup mark match measure merge normalize notify observe parse persist pick prepare
		project promote prune publish rebuild reconcile record redact reduce refresh reject release render repair replay replicate
		reserve reset resolve restore resume revoke rotate route sample schedule select settle shrink sign skip split stage store
		submit suspend sync track transform trim unlock update upload validate verify walk warm write`)
	synthRoles    = strings.Fields(`Store Writer Reader Pool Client Server Handler Manager Cache Queue Policy Encoder Decoder Builder Runner Planner Tracker Registry Loader Monitor`)
	synthPeople   = strings.Fields(`Amara Bogdan Chiara Dmitri Elif Farid Greta Hiroshi Ines Jonas Kavya Lotte Mateo Nadia Oluwaseun Priya Quentin Rania Sven Tomoko Ulrike Vikram Wanjiru Xin Yusuf Zofia`)
	synthTeams    = strings.Fields(`payments platform growth search billing identity logistics compliance mobile infra analytics partner-api`)
	synthSyllable = strings.Fields(`ba bel cor dan dor el fen gal har in jor kal lum mar nor or pel quil ras sol tal ul ven wex yar zan tri mo vi ster`)
	synthLibs     = strings.Fields(`zerolux fastmap pqtool gridlock yamlite httpkit ringo boltline cronexpr tinytpl jwtkit gzpool kafkite redcell avroid promlite cobalt arrowhead`)
	synthAdj      = strings.Fields(`stale empty duplicate partial expired missing late oversized malformed orphaned pending locked truncated unsorted`)
)

// Statements of functions, in the three synthLanguages that projects are written in. A name in
// angle brackets is filled in by the project: see synth.word.
var goBody = []string{
	"\t<v>, err := <fn>(ctx, <w>)\n\tif err != nil {\n\t\treturn fmt.Errorf(\"<verb> <noun> %s: %w\", <w>.ID, err)\n\t}\n\tdefer <v>.Close()",
	"\tif len(<w>.<Noun>s) == 0 {\n\t\treturn nil // nothing to <verb>: the <noun> is <adj>\n\t}",
	"\tfor i, <v> := range <w>.<Noun>s {\n\t\tif <v>.<Noun> > <const> {\n\t\t\tcontinue\n\t\t}\n\t\t<w>.<Noun>s[i] = <fn>(<v>)\n\t}",
	"\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\tif s.closed {\n\t\treturn Err<Noun>Closed\n\t}",
	"\t<v> := &<type>{\n\t\t<Noun>: <w>.<Noun>,\n\t\tLimit: <const>,\n\t\tTTL: <nnn> * time.Millisecond,\n\t}",
	"\tselect {\n\tcase s.<noun>s <- <w>:\n\tcase <-ctx.Done():\n\t\treturn ctx.Err()\n\t}",
	"\t// The <noun> may be <adj> here: the <noun2> is written before it is <verb>ed elsewhere.\n\tif <v>, ok := s.by<Noun>[<w>.ID]; ok && !<v>.Expired(s.now()) {\n\t\treturn <fn>(ctx, <v>)\n\t}",
	"\tslog.DebugContext(ctx, \"<verb> <noun>\", \"<noun2>\", <w>.ID, \"attempt\", attempt)",
	"\tswitch <w>.Kind {\n\tcase <type>Kind:\n\t\treturn <fn>(ctx, <w>)\n\tcase \"<noun2>\":\n\t\t<w>.retries++\n\tdefault:\n\t\treturn fmt.Errorf(\"<verb> <noun>: unknown kind %q\", <w>.Kind)\n\t}",
	"\tsort.Slice(<v>s, func(i, j int) bool {\n\t\treturn <v>s[i].<Noun> < <v>s[j].<Noun>\n\t})",
	"\tbackoff := min(<const>, time.Duration(1<<attempt)*<nn>*time.Millisecond)\n\ts.clock.Sleep(ctx, backoff)",
	"\tif got := <fn>(<w>.Bytes()); got != <w>.Sum {\n\t\treturn fmt.Errorf(\"<noun> %d: checksum %08x, want %08x\", <w>.Seq, got, <w>.Sum)\n\t}",
	"\trows, err := s.db.QueryContext(ctx, `SELECT id, <noun>, <noun2>_at FROM <noun>s WHERE <noun2>_id = $1 ORDER BY <noun2>_at DESC LIMIT <nnn>`, <w>.ID)\n\tif err != nil {\n\t\treturn fmt.Errorf(\"query <noun>s: %w\", err)\n\t}\n\tdefer rows.Close()",
	"\ts.metrics.<Noun>Total.WithLabelValues(<w>.<Noun>, \"<adj>\").Inc()",
}

var pyBody = []string{
	"    <v> = <fn>(<w>, limit=<const>)\n    if not <v>:\n        raise ValueError(f\"<verb> <noun> {<w>.id}: <adj> <noun2>\")",
	"    with self._lock:\n        <v> = self._<noun>s.get(<w>.id)\n        if <v> is None or <v>.expired(self._clock()):\n            <v> = <fn>(<w>)\n            self._<noun>s[<w>.id] = <v>",
	"    for <v> in <w>.<noun>s:\n        if <v>.<noun2>_count > <const>:\n            continue\n        out.append(<fn>(<v>))",
	"    df = df[df[\"<noun>_id\"].notna()]\n    df[\"<noun2>_ratio\"] = df[\"<noun>_total\"] / df[\"<noun2>_total\"].clip(lower=<n>)",
	"    logger.debug(\"<verb> <noun> %s (attempt %d)\", <w>.id, attempt)",
	"    # the <noun> can be <adj> here because <noun2>s are written in two steps\n    if <w>.state == \"<adj>\":\n        return <fn>(<w>)",
	"    <v> = <type>(\n        <noun>=<w>.<noun>,\n        timeout=<nnn> / 1000,\n        retries=<n>,\n    )",
	"    grouped = df.groupby([\"<noun>\", \"<noun2>\"], as_index=False).agg(total=(\"amount\", \"sum\"), rows=(\"id\", \"count\"))\n    grouped = grouped.sort_values(\"total\", ascending=False).head(<nn>)",
	"    try:\n        <v> = await self._client.<verb>(<w>.id, timeout=<const>)\n    except TimeoutError as exc:\n        raise <type>Error(f\"<noun> {<w>.id} timed out\") from exc",
	"    assert <v>.<noun2>_count >= 0, f\"negative <noun2> count for {<w>.id}\"",
}

var tsBody = []string{
	"\tconst <v> = await <fn>(<w>.id, { limit: <const> });\n\tif (!<v>) {\n\t\tthrow new Error(`<verb> <noun> ${<w>.id}: <adj> <noun2>`);\n\t}",
	"\tif (this.<noun>s.size === 0) {\n\t\treturn []; // nothing to <verb>\n\t}",
	"\tfor (const <v> of <w>.<noun>s) {\n\t\tif (<v>.<noun2>Count > <const>) continue;\n\t\tout.push(<fn>(<v>));\n\t}",
	"\tthis.emitter.emit(\"<noun>:<verb>\", { id: <w>.id, at: Date.now() });",
	"\tconst <v>: <type> = {\n\t\t<noun>: <w>.<noun>,\n\t\tretries: <n>,\n\t\ttimeoutMs: <nnn>,\n\t};",
	"\t// <noun2>s arrive before their <noun>, so this may be <adj>\n\tconst cached = this.by<Noun>.get(<w>.id);\n\tif (cached && !cached.expired) {\n\t\treturn <fn>(cached);\n\t}",
	"\ttry {\n\t\tawait this.client.<verb>(<w>.id, { signal, timeout: <const> });\n\t} catch (err) {\n\t\tthis.logger.warn({ err, <noun>: <w>.id }, \"<verb> <noun>\");\n\t\tthrow err;\n\t}",
	"\treturn <v>s\n\t\t.filter((<noun2>) => <noun2>.state !== \"<adj>\")\n\t\t.sort((a, b) => a.<noun>At - b.<noun>At)\n\t\t.map(<fn>);",
	"\tlogger.debug({ <noun2>: <w>.id, attempt }, \"<verb> <noun>\");",
}

// What the agent thinks, announces and explains.
var (
	synthThoughts = []string{
		"<fn> takes the <noun> before the <noun2> is checked. If the <noun2> is <adj>, the count is off by one. That would explain the difference, but not the order.",
		"So <fn> and <fn2> both <verb> the <noun>. Whoever comes second sees a <adj> one, and the lock does not help because it is taken per <noun2>.",
		"The limit <const> is compared with the wrong side: in <fn> it is the number of <noun>s, here it is the number of <noun2>s.",
		"I could guard against the <adj> <noun> in <fn>, or never hand it out. The second is cleaner, but <type> has callers that rely on it.",
		"Wait, <path> is not the only place. <fn2> has the same shape, and nobody checks whether the <noun> was <verb>ed before.",
		"Let me think about what happens on a restart: the <noun> is read first, the <noun2> may not be there yet, and then <fn> sees nothing at all.",
		"If <nn> <noun>s come in at once, each of them waits <nnn> ms for the <noun2>. That adds up to more than the caller is willing to wait.",
		"The user wants the cause and not a workaround, so I should not simply raise <const>. First I need to know who writes the <adj> <noun>.",
		"There are two hypotheses. Either the <noun> is <adj> already when it is stored, or <fn> makes it so. A test with a single <noun2> would tell them apart.",
		"That is odd. The <noun> has <nn> entries here and <nnn> in the <noun2>, and both come from <fn>.",
	}
	synthAnnouncements = []string{
		"The <noun> is <verb>ed twice in <fn>. I'll change that.", "Found something: <fn> ignores a <adj> <noun>.", "I'll adjust <path> so that the <noun2> comes first.",
		"Next I make <fn> return early when the <noun> is <adj>.", "Now the other half of it, in <path>.", "Good, that confirms it. <fn> is the place.",
		"Before I change anything I want to know who else calls <fn>.", "One more attempt, this time in <fn> itself and not around it.",
	}
	synthExplanations = []string{
		"The <noun> is created in <fn> and handed to the <noun2>, which keeps it longer than anybody expects.",
		"As long as there is only one <noun2>, this goes well; with two of them the second one finds a <adj> <noun> and gives up.",
		"I looked at all <nn> callers: <n> of them check the error, the others only log it.",
		"The old code compared with <const>, which is a number of <noun>s and not of bytes.",
		"Nothing outside of <path> depends on the order, as far as I can see.",
		"I did not change <type>, although it would have been the smaller diff.",
		"What remains open is whether a <adj> <noun> can still reach <fn2> by way of the <noun2>.",
		"With the change the <noun> is <verb>ed once per <noun2>, and the time goes down from <nnn> ms to <nn> ms on this machine.",
		"The test for it fails without the change and passes with it; I checked both.",
		"There is a comment in <path> that says the opposite, it dates from before the <noun2> existed.",
		"If the <noun> is missing altogether, <fn> now says so and names the <noun2>.",
	}
	synthBullets = []string{
		"- `<fn>` in <path> checks the <noun> before it <verb>s the <noun2>", "- the <noun> limit is <nnn> now, as <const> says", "- <adj> <noun>s are counted and logged once a minute",
		"- `<type>` keeps its fields, only the <noun2> moved", "- the <noun> fixture has <nn> more entries", "- nothing about the <noun2> was touched",
	}
)
