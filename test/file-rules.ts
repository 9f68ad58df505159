/** Rules of files and names: how small a file may be, and what an exported name says. house.test.ts applies them. */
import type { Rule, Source } from './structure-rules.ts'

/** The fewest lines of a file. A file is one idea: what is smaller lives with its only user, or with the idea that it belongs to. */
const fewestLines = 50

/** Files that may be shorter: a path below src, and the reason. */
const shortFiles: readonly [path: RegExp, reason: string][] = [
  [/^main\.ts$/, 'it is the program'],
  [/^domain\/[a-z-]+\/index\.ts$/, 'it is the door of a module'],
  [/^store\/db\/tables\//, 'it declares a table, the columns that many tables have, or their traits'],
  [/^store\/rates\/postgres-buckets\.ts$/, 'it is an adapter, beside that of Redis'],
  [/^store\/redis-database\.ts$/, 'two adapters of Redis use it, in folders that do not import each other'],
  [/^api\/http\/cors\.ts$/, 'it says for every API what pages of other origins may do'],
  [/^domain\/generations\/loop\/worker\.ts$/, 'it is a worker, which a process starts'],
  [
    /^api\/graphql\/(types\/(audit|generations)|builder\/(described|limits))\.ts$/,
    'it is a part of the schema of its own',
  ],
]

const linesOf = (text: string) => text.split('\n').length - 1

/** Participles that do not end in -ed. */
const irregular =
  'begun bought bound broken brought built caught chosen done drawn driven fallen felt fetched forgot forgotten found ' +
  'frozen given gone heard held hidden kept known led left lent lost made meant met paid put read said seen sent shown ' +
  'spent spoken stolen taken taught thought thrown told torn understood won worn written'
const irregulars = new Set(irregular.split(' '))

/** Words that look like participles, and are nouns, verbs or usual words of programming. */
const otherWords = new Set(['embed', 'exceed', 'feed', 'need', 'proceed', 'read', 'seed', 'speed', 'succeed'])

/** Whether a word says only what has happened to something, and not what it is. */
function isParticiple(word: string): boolean {
  if (otherWords.has(word)) return false
  return irregulars.has(word) || irregulars.has(word.replace(/^(un|re)/, '')) || /..ed$/.test(word)
}

/** Whether a name is a participle alone, also with a particle: `told`, `Held`, `leftOpen`, `askedFor`; or a clause, as `goesOn`. */
export function isBareParticiple(name: string): boolean {
  const [, word, particle] =
    /^([A-Za-z][a-z]+)(On|Off|Out|Open|Up|Down|Back|Away|Over|By|For|To|In)?$/.exec(name) ?? []
  if (word === undefined) return false
  return isParticiple(word.toLowerCase()) || (particle !== undefined && /^(?:goes|was)$/i.test(word))
}

const exportedNames = (text: string) =>
  [
    ...text.matchAll(
      /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) (\w+)/gm,
    ),
  ].map((match) => match[1]!)

/** The names of the schema's builder are those of a language of its own. */
const ownLanguage = /^api\/graphql\/(types|builder)\//

export const participleRule: Rule = {
  name: 'an exported name is a noun for a thing or a verb for an act, and never a bare participle',
  violations: (sources: readonly Source[]) =>
    sources
      .filter(({ path }) => !ownLanguage.test(path))
      .flatMap(({ path, text }) =>
        exportedNames(text)
          .filter(isBareParticiple)
          .map((name) => `${path}: ${name}`),
      ),
  planted: {
    sources: [
      {
        path: 'domain/calls/call.ts',
        text: [
          'export function told() {}',
          'export interface Held {}',
          'export const leftOpen = 1',
          'export const goesOn = () => true',
          'export type Unsettled = string',
          'export const maskedValue = 2',
          'export function readFeed() {}',
          'const found = 3',
        ].join('\n'),
      },
    ],
    found: ['told', 'Held', 'leftOpen', 'goesOn', 'Unsettled'].map((name) => `domain/calls/call.ts: ${name}`),
  },
}

export const fileRules: readonly Rule[] = [
  {
    name: `no file has fewer than ${fewestLines} lines without a reason`,
    violations: (sources) =>
      sources
        .filter(({ path, text }) => linesOf(text) < fewestLines && !shortFiles.some(([at]) => at.test(path)))
        .map(({ path, text }) => `${path}: ${linesOf(text)}`),
    planted: {
      sources: [
        { path: 'core/one-line.ts', text: '\n'.repeat(fewestLines - 1) },
        { path: 'core/text.ts', text: '\n'.repeat(fewestLines) },
        { path: 'domain/tools/index.ts', text: '' },
      ],
      found: [`core/one-line.ts: ${fewestLines - 1}`],
    },
  },
  participleRule,
]
