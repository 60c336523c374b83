package synth

import "strings"

// The words that projects are made of. A session draws a few of each, so that two
// sessions speak of different things.
var (
	synthNouns = strings.Fields(
		`badge bakery balance banner basket batch beacon beaver binding bottle bracket bridge broker bucket buffer bundle cabinet
		cache calendar campaign candle canopy capsule cargo carrier castle catalog cellar channel chapter chart checkpoint chunk
		claim clinic cluster collector column command compass contract corridor cottage coupon courier courtyard cursor customer
		dashboard dataset deposit depot device digest discount dispatcher docket domain draft drawer driver feed fence ferry filing
		fixture flag fleet folder forecast frame freight garage gateway gazette glyph grant graph grocer guard hangar harbor
		heartbeat helmet hotel journal kernel kiosk label landlord lane lantern lattice laundry lease ledger lens library license
		listener lobby locale locker lottery luggage magazine mailbox manifest marker market matrix mattress medal member menu
		merchant meter migration mirror monitor museum nonce notice nursery packet parade parcel partition passport pasture pavilion
		payload payout permit pharmacy pigeon pipeline planner plaza pointer portal postcard prefix presence probe profile pump
		quarry quota rack radar railway ranch receipt reef region registry relay rental replica report reservation resolver retry
		rocket rollup roster saddle sandbox scaffold scanner schedule schema segment sensor session shard shipment signal sink sketch
		slot snapshot socket spool stamp station stream studio subscriber subway summary supplier surgery symbol tailor tariff tavern
		tenant theater ticket timer token topic tower tracker tractor tram tunnel turbine vault vector vendor venue village violin
		voucher voyage wallet warehouse watcher webhook widget window worker yard zone`,
	)
	synthVerbs = strings.Fields(
		`accept acquire adjust align allocate append apply assign attach audit bundle cancel capture carry classify clone collect
		compact compare compose compute confirm convert count decode derive detach dispatch encode enqueue evict expand expire fetch
		filter finish flatten flush gather grant hash hydrate insert inspect launch load locate match measure merge normalize notify
		observe pack parse persist pick prepare promote prune publish queue rank rebuild reconcile redact reduce refresh reject
		release render repair replay replicate reserve resolve restore resume revoke rotate score seal select settle stamp suspend
		track transform unlock update upload validate verify walk warm`,
	)
	synthRoles = strings.Fields(
		`Store Writer Reader Pool Client Server Handler Manager Cache Queue Policy Encoder Decoder Builder Runner Planner Tracker Registry Loader Monitor`,
	)
	synthPeople = strings.Fields(
		`Amara Bogdan Chiara Dmitri Elif Farid Greta Hiroshi Ines Jonas Kavya Lotte Mateo Nadia Oluwaseun Priya Quentin Rania Sven Tomoko Ulrike Vikram Wanjiru Xin Yusuf Zofia`,
	)
	synthTeams = strings.Fields(
		`payments platform growth search billing identity logistics compliance mobile infra analytics partner-api`,
	)
	synthSyllable = strings.Fields(
		`ba bel cor dan dor el fen gal har in jor kal lum mar nor or pel quil ras sol tal ul ven wex yar zan tri mo vi ster`,
	)
	synthLibs = strings.Fields(
		`zerolux fastmap pqtool gridlock yamlite httpkit ringo boltline cronexpr tinytpl jwtkit gzpool kafkite redcell avroid promlite cobalt arrowhead`,
	)
	synthAdj = strings.Fields(
		`stale broken duplicate partial dirty missing late foreign malformed skewed pending locked truncated dangling closed`,
	)
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
	"\t// The <noun> may be <adj> here: the <noun2> is written before it is <verbed> elsewhere.\n\tif <v>, ok := s.by<Noun>[<w>.ID]; ok && !<v>.Expired(s.now()) {\n\t\treturn <fn>(ctx, <v>)\n\t}",
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
		"Wait, <path> is not the only place. <fn2> has the same shape, and nobody checks whether the <noun> was <verbed> before.",
		"Let me think about what happens on a restart: the <noun> is read first, the <noun2> may not be there yet, and then <fn> sees nothing at all.",
		"If <nn> <noun>s come in at once, each of them waits <nnn> ms for the <noun2>. That adds up to more than the caller is willing to wait.",
		"The user wants the cause and not a workaround, so I should not simply raise <const>. First I need to know who writes the <adj> <noun>.",
		"There are two hypotheses. Either the <noun> is <adj> already when it is stored, or <fn> makes it so. A test with a single <noun2> would tell them apart.",
		"That is odd. The <noun> has <nn> entries here and <nnn> in the <noun2>, and both come from <fn>.",
	}
	synthAnnouncements = []string{
		"The <noun> is <verbed> twice in <fn>. I'll change that.", "Found something: <fn> ignores a <adj> <noun>.",
		"I'll adjust <path> so that the <noun2> comes first.",
		"Next I make <fn> return early when the <noun> is <adj>.", "Now the other half of it, in <path>.",
		"Good, that confirms it. <fn> is the place.", "Before I change anything I want to know who else calls <fn>.",
		"One more attempt, this time in <fn> itself and not around it.",
	}
	synthExplanations = []string{
		"The <noun> is created in <fn> and handed to the <noun2>, which keeps it longer than anybody expects.",
		"As long as there is only one <noun2>, this goes well; with two of them the second one finds a <adj> <noun> and gives up.",
		"I looked at all <nn> callers: <n> of them check the error, the others only log it.",
		"The old code compared with <const>, which is a number of <noun>s and not of bytes.",
		"Nothing outside of <path> depends on the order, as far as I can see.",
		"I did not change <type>, although it would have been the smaller diff.",
		"What remains open is whether a <adj> <noun> can still reach <fn2> by way of the <noun2>.",
		"With the change the <noun> is <verbed> once per <noun2>, and the time goes down from <nnn> ms to <nn> ms on this machine.",
		"The test for it fails without the change and passes with it; I checked both.",
		"There is a comment in <path> that says the opposite, it dates from before the <noun2> existed.",
		"If the <noun> is missing altogether, <fn> now says so and names the <noun2>.",
	}
	synthBullets = []string{
		"- `<fn>` in <path> checks the <noun> before it <verbs> the <noun2>",
		"- the <noun> limit is <nnn> now, as <const> says", "- <adj> <noun>s are counted and logged once a minute",
		"- `<type>` keeps its fields, only the <noun2> moved", "- the <noun> fixture has <nn> more entries",
		"- nothing about the <noun2> was touched",
	}
)
