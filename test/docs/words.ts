/**
 * Words that we do not use, and what we say instead: the field's own terms, one word for each idea. Data only; words.test.ts
 * applies it. A rule about a word that is ordinary English too names the phrases in which it was a word of our own.
 */

/**
 * Prose is what people read: documents, comments, descriptions. Code is identifiers and file names. Text is what the dashboard
 * and the commands say, a line for each.
 */
export type Kind = 'prose' | 'code' | 'text'

export interface WordRule {
  /** What must not be found. Global and stateless: `g` is added by the test. */
  pattern: RegExp
  /** What to say instead. */
  instead: string
  /** Where it applies; to prose and code when left out. */
  kinds?: Kind[]
  /** Parts of a text that are cut out before the pattern is tried, with the reason. */
  except?: { pattern: RegExp; reason: string }[]
  /** Texts that it must find, so that a rule never passes on nothing. */
  finds: string[]
  /** Ordinary uses that it must leave alone. */
  allows?: string[]
  /** Tests are held to it too. */
  tests?: true
}

/** What the dashboard and the commands said once, beside what they say now. */
const textRules: WordRule[] = [
  [/\bChoose (?:all|none)\b/m, 'Select all, Clear', 'Choose all'],
  [/^(?:May|Made|Ends)$/m, 'Role, Created, Expires', 'Made'],
  [/\bStarts by itself\b|^Surface$/m, 'Triggers; Visible tools', 'Starts by itself'],
  [/\bRead (?:its lists now|again)\b/, 'Refresh', 'Read its lists now'],
  [/^(?:Do not|Keep it|Not now)$/m, 'Cancel', 'Not now'],
  [/\bon this page\b/, 'in the dashboard', 'Turned on on this page'],
  [/\bWhat that would remove now\b/, 'Preview', 'What that would remove now'],
  [/\bwhich the model reads\b/, '(sent to the model)', 'Reason, which the model reads'],
  [/\bWho asked may not decide\b/, "The requester can't approve", 'Who asked may not decide'],
  [/\bWords or an id\b/, 'Search or paste an id', 'Words or an id'],
  [/\bshow the run\b|^(?:Asked for by|Took)$/im, 'Open run; Requested by; Duration', 'Took'],
  [/\btime is up left\b/i, 'Expired', 'time is up left'],
  [
    /\bThere is nothing to do with\b/,
    'Unexpected argument "list"; did you mean --list?',
    'There is nothing to do with "x".',
  ],
  [/\bverdicts?\b(?! from elsewhere”)/i, 'decision', 'Your verdict'],
  [/\b(?:a|the|your|this|one) questions?\b/i, 'approval request', 'Open the question'],
  [/\bgenerations?\b(?!, history)/i, 'run', 'generation ended'],
].map(([pattern, instead, found]) => ({
  pattern: pattern as RegExp,
  instead: instead as string,
  kinds: ['text'],
  finds: [found as string],
}))

export const rules: WordRule[] = [
  ...textRules,
  {
    pattern: /(?<!-)\bhouses?\b/i,
    instead: 'Services (the type), Gatehouse or the server (in text)',
    except: [{ pattern: /\bhouse\.test\.ts\b/g, reason: 'the name of the test of the module structure' }],
    finds: ['the house keeps its law', 'interface House'],
    allows: ['Gatehouse is a server', 'an in-house model', 'see test/house.test.ts'],
  },
  {
    pattern: /\b(?:door)?bells?\b|\b(?:localBell|postgresBell|redisBell)\b/i,
    instead: 'PubSub, a hint',
    finds: ['rings the bell', 'a doorbell makes it fast'],
    allows: ['a label'],
  },
  {
    pattern: /\brings? (?:the|it|`)|\b(?:rung|rang)\b/i,
    instead: 'publishes',
    finds: ['and rings `surface`', 'the process that rang'],
    allows: ['a ring of 256 entries', 'a ring buffer'],
  },
  {
    pattern: /\bsinks?\b|\bhand(?:s|ed)?(?:Round| it round| them round)\b/i,
    instead: 'subscriber, broadcast',
    finds: ["a subscriber's sink is attached", 'handRound(events)'],
  },
  {
    pattern: /\bStays\b|\bcreateStays\b|\b(?:a|the|each|every|no) stay\b/,
    instead: 'RevocationWatcher, a stream that ends with its key',
    finds: ['createStays()', 'each stay ends with its key'],
    allows: ['calls in flight stay in flight', 'the deadline stays'],
  },
  { pattern: /\breins\b/i, instead: 'WorkControl', finds: ['interface Reins'] },
  {
    pattern: /\bnudg(?:e[sd]?|ing)\b/i,
    instead: 'asks to check again, recheck',
    finds: ['nudges the worker'],
  },
  {
    pattern:
      /\b(?:a|each|every|one|next|last|first|late) look\b(?! like)|\bmust look\b(?! (?:up|like|for))|\blook(?:s|ed)? again\b|\blooked at (?:once|again|it last)\b/i,
    instead: 'poll, loadState, discover, recheck; "when a worker must take it"',
    finds: [
      'every look says it anew',
      'when somebody must look',
      'whoever looked at it last',
      'it looks again',
    ],
    allows: ['look it up', 'where to look for it', 'a look like this'],
  },
  {
    pattern: /\bin hand\b|\binHand\b/,
    instead: 'in flight, inFlight',
    finds: ['calls in hand', 'inHand.size'],
  },
  { pattern: /\blanes?\b/i, instead: 'concurrency', finds: ['eight lanes'] },
  {
    pattern:
      /\b(?:run|runs|agent|agents|generation|generations) (?:directly )?above\b|\btellAbove\b|\bruns? within (?:a run|runs)\b/i,
    instead: 'parent, ancestors, child run, notifyParent',
    finds: ['the run above waits', 'a run within a run', 'Runs within runs are rows'],
    allows: ['amounts above 100', 'a module above approvals', 'as said above'],
  },
  {
    pattern: /\btelling\b|(?:\b(?:interface|type|as)|[:<,{]) Told\b/,
    instead: 'appendEvents, OwnerUpdate',
    kinds: ['code'],
    finds: ['const telling = 1', 'type Told = string', 'table: Record<ErrorCode, Told>'],
    allows: ['/** Told to the model when the call is rejected. */'],
  },
  {
    pattern: /\bwire verdicts?\b|\bwireVerdict\b/i,
    instead: 'negotiated protocol',
    finds: ['the wire verdict'],
  },
  {
    pattern: /\b(?:Knock|Visit|Leg|serveLeg)s?\b|\b(?:AgentPlace|PlatformPlace)\b/,
    instead: 'McpRequest, AgentRequest, serveModern, Endpoint',
    kinds: ['code'],
    finds: ['type Knock = {}', 'interface Visit', 'const leg: Leg = x', 'AgentPlace'],
  },
  { pattern: /\bknock(?:s|ed|ing)?\b/i, instead: 'request', kinds: ['prose'], finds: ['whoever knocks'] },
  {
    pattern: /\bBegun\b(?! by)/,
    instead: '{ id, running }',
    kinds: ['code'],
    finds: ['type Begun ='],
    allows: ["['Begun by', startedBy]"],
  },
  {
    pattern:
      /\b(?:a|the|each|every|new|own|higher|lower|one) rooms?\b(?! (?:for|of|left|in))|\brooms of the domain\b|\bassertRoom\b/i,
    instead: 'module (of the domain), assertQuota (a limit)',
    finds: ['a new room `calls`', 'the rooms of the domain', 'assertRoom(ctx)'],
    allows: ['leaves room for the others', 'more room below the row', 'the room for one row'],
  },
  {
    pattern: /\bheard out\b|\bhear(?:s|ing)? (?:it|them) out\b|\b(?:endRuns)\b/,
    instead: 'allowed to finish, cancelChildren',
    finds: ['calls in flight are heard out'],
  },
  {
    pattern: /\b(?:faces?)\b/i,
    instead: 'the APIs, the API layer, servers',
    finds: ['thin faces', 'openFaces and a face', 'faces.ts'],
    allows: ['an interface', 'the surface of an agent'],
  },
  { pattern: /\broofs?\b/i, instead: 'root files', finds: ['the roof'], allows: ['the proof of the epoch'] },
  {
    pattern: /\bfoundation\.ts\b|\bthe foundation\b/i,
    instead: 'paths, the root files',
    finds: ['foundation.ts'],
    allows: ['a foundation model'],
  },
  { pattern: /\bwelcome\b/i, instead: 'banner', finds: ['welcome(app, config)'] },
  {
    pattern: /\b(?:the|without|nobody's|many) hands\b(?! out)/i,
    instead: 'executor, "no worker holds it"',
    finds: ['the hands act', 'words without hands', "the call is in nobody's hands"],
    allows: ['what hands out secrets', 'the one that hands over'],
  },
  {
    pattern: /\bdoors?\b|\bopenFirstDoor\b/i,
    instead: 'index.ts, entry point; guarded fetch',
    except: [
      {
        pattern: /`doors`|\bdoors\.test\.ts\b/g,
        reason: 'the name of a test of requests that are refused early',
      },
    ],
    finds: ['through one guarded door', 'a front door', 'openFirstDoor()'],
    allows: ['a vendor', 'tested by `doors`'],
  },
  {
    pattern: /(?<!Math\.)\bfloors?\b/i,
    instead: 'layer; "the oldest version" of Node',
    finds: ['every floor stands on lower floors'],
    allows: ['Math.floor(left)'],
  },
  {
    pattern: /\bstrangers?\b/i,
    instead: 'untrusted input, untrusted client; "anybody without a key"',
    finds: ["strangers' schemas", 'a stranger'],
  },
  {
    pattern: /^\s*(?:\/\*\*?|\*|\/\/) ?(?:[^\n]*(?:[.;:]|,? and|, or) )?[Aa]nswers\b(?! (?:in|that|are)\b)/m,
    instead: 'Returns …',
    kinds: ['code'],
    finds: [
      '/** Answers a page. */',
      '   * Makes it. Answers the id.',
      '// idempotent; answers how many',
      '/** Adds them and answers the type. */',
    ],
    allows: ['/** The answer of the model. */', '// An upstream that answers 503 is alive.'],
  },
  {
    pattern: /\bS[0-24]\b|\bS3\b(?![- ](?:compatible|bucket|storage|API))/,
    instead: 'say the rule, or name the public specification',
    finds: ['the numbers of S1', 'As in S0', 'the seeds of S3'],
    allows: ['S3-compatible storage', 'an S3 bucket', 'SHA-256'],
  },
  {
    pattern: /\bmend(?:s|ed|ing)?\b/i,
    instead: 'fix',
    finds: ['an estimate of the mend'],
    allows: ['recommended'],
  },
  {
    pattern: /\bwire-true\b/i,
    instead: "that speak the provider's protocol",
    finds: ['wire-true local servers'],
  },
  {
    pattern: /\b(?:hang(?:s|ing)?|hung) up\b/i,
    instead: 'closes the connection',
    finds: ['hanging up means nothing'],
    allows: ['timeouts that hung'],
  },
  {
    pattern: /\b(?:stands?|stood) (?:there|here|in (?:the|its|a)(?! way)|under|below|above|beside|at its)\b/i,
    instead: 'is, has; "with this status"',
    kinds: ['prose'],
    finds: ['Only those that stand there.', 'audit stands below access'],
    allows: ['`…` stands for any text', 'the hint that stands in for a missing gate'],
  },
  {
    pattern: /\b(?:newcomer finds|bricks?|warehouses?|bones)\b/i,
    instead: 'the thing itself, without a picture',
    kinds: ['prose'],
    finds: ['every brick is decent'],
  },
  {
    pattern: /\b(?:Run|Started|Asked|ends|begin|answer|read|previous)Legs?\b|\blegs?\b|\blegOf\b/,
    instead: 'segment, RunSegment',
    finds: ['a leg of a run', 'type RunLeg = {}', 'endsLeg(one)'],
    allows: ['legacy clients', 'a legal schema'],
  },
  {
    pattern: /\bHappenings?\b|\bhappenings\b/,
    instead: 'RunUpdate',
    finds: ['type Happening =', 'the happenings of a run'],
    allows: ['what happens in a race'],
  },
  {
    pattern: /\bKeyed(?:Api|Request|Reply|Route|Callers)\b|\bkeyedCaller\b/,
    instead: 'AuthenticatedApi, AuthenticatedRequest, ApiReply',
    finds: ['interface KeyedApi', 'callers.keyedCaller(request)'],
    allows: ['a keyed digest'],
  },
  {
    pattern: /\b\w+Surely\b|-surely\b/,
    instead: '…WithOutageRetry',
    finds: ['commitSurely(db)', 'commit-surely.ts'],
    allows: ['surely not'],
  },
  {
    pattern: /\bManner\b/,
    instead: 'StatementOptions',
    finds: ['interface Manner'],
    allows: ['in this manner'],
  },
  { pattern: /\bFileRoutes\b/, instead: 'Route', finds: ['routes: FileRoutes'] },
  {
    pattern: /\b(?:interface|type) Live\b|\b(?:startLive|LiveOptions|services\.live)\b|\bhubs?\b/,
    instead: 'EventBroadcaster, services.broadcaster',
    tests: true,
    finds: ['interface Live {', 'startLive(db, pubsub)', 'the hub of one process'],
    allows: ['GitHub', 'then new ones live, without end'],
  },
  {
    pattern: /\b(?:interface|type|class) (?:Given|Asked|Target|Seen)\b/,
    instead: 'a name of its own for each',
    kinds: ['code'],
    tests: true,
    finds: ['interface Asked {', 'type Given = {}', 'export interface Target'],
    allows: ['interface GateTarget', 'type AskedTool'],
  },
  {
    pattern: /\b(?:is)?[uU]sual[A-Z]\w*|\bUsual\w*|\bisUsual\b|\busual\b/,
    instead: 'default…, plain, common',
    kinds: ['code'],
    tests: true,
    finds: ['const usualMs = 1', 'interface UsualRates', 'isUsual', 'const usual = {}'],
    allows: ['usually'],
  },
  {
    pattern: /\bhears\b/,
    instead: 'receives, learns of',
    tests: true,
    finds: ['nobody hears this'],
    allows: ['what was heard'],
  },
  {
    pattern: /\bcrews?\b|Crew\b|\bCrew\w+/,
    instead: 'clients',
    tests: true,
    finds: ['startCrew(options)', 'interface CrewOptions', 'the crew works'],
    allows: ['a screw'],
  },
  {
    pattern: /\bstages?\b|Stage\b|\bStage\w+/,
    instead: 'Deployment (replicas over one database), fixtures, a step of a script',
    tests: true,
    finds: ['openStage(kind)', 'type StageKind', 'the stage of a test'],
    allows: ['staged', 'the percentage'],
  },
  {
    pattern: /\bvictims?\b|VICTIM|Victim\b/,
    instead: 'the killed process, the process under test',
    tests: true,
    finds: ['const victim = start()', 'VICTIM_ORDERS', 'asVictim'],
  },
  {
    pattern: /\bstor(?:y|ies)\b|Story\b|\bStor(?:y|ies)\w*/,
    instead: 'fixtures, or the scenario by its content',
    tests: true,
    finds: ['gateStory(h)', 'const story = 1', 'type Story ='],
    allows: ['the history of a thread'],
  },
]
