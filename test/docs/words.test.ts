/** The words of words.ts are not used. To hold more files to them, add an entry to `fileSets`. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { documents, read } from './documents.ts'
import { rules, type Kind, type WordRule } from './words.ts'

interface FileSet {
  name: string
  kind: Kind
  files: string[]
  /** Only the rules for tests apply. */
  tests?: true
  /** The part of a file that is held to the words; line breaks stay, so that lines can be named. */
  textOf(content: string): string
}

const blank = (text: string) => text.replace(/[^\n]/g, ' ')
/** Prose of a document: without fenced blocks, and without the targets of links, which are file names. */
const prose = (markdown: string) =>
  markdown.replace(/^```[\s\S]*?^```$/gm, blank).replace(/\]\([^)\s]+\)/g, blank)

const root = join(import.meta.dirname, '../..')
const sourcesOf = (folder: string) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `${folder}/${path}`)
const sources = sourcesOf('src')
const programs = [...sourcesOf('client'), ...sourcesOf('cli')]
/** Without those that hold forbidden words as data, and without those of the dashboard. */
const tests = sourcesOf('test').filter(
  (path) => !/^test\/(?:web\/|docs\/words\.ts|api\/graphql\/description-rules\.ts)/.test(path),
)
/** Comments alone, and everything but comments: they are held to different rules. */
const commentPattern = /\/\*[\s\S]*?\*\/|(?<=^|[\s;{}(,])\/\/[^\n]*/g
const code = (content: string) => content.replace(commentPattern, blank)
const comments = (content: string) => {
  const rest = code(content)
  return [...content].map((letter, i) => (letter === rest[i] && letter !== '\n' ? ' ' : letter)).join('')
}

/** The texts in the code that have a space: names and paths have none. */
const quotedIn = (content: string) =>
  code(content).replace(/[^\n]*/g, (line) =>
    [...line.matchAll(/'([^'\n]*)'|`([^`\n]*)`/g)]
      .map(([, plain, filled]) => (plain ?? filled!).replace(/\$\{[^}]*\}|<[^>]*>/g, ''))
      .filter((text) => text.includes(' '))
      .join('; '),
  )
const sayings = (content: string) => Object.keys(JSON.parse(content) as Record<string, unknown>).join('\n')

const fileSets: FileSet[] = [
  {
    name: 'documents',
    kind: 'prose',
    files: documents,
    textOf: prose,
  },
  { name: 'comments in src', kind: 'prose', files: sources, textOf: comments },
  { name: 'comments in client and cli', kind: 'prose', files: programs, textOf: comments },
  { name: 'the code of client and cli', kind: 'code', files: programs, textOf: code },
  { name: 'the code of src', kind: 'code', files: sources, textOf: code },
  { name: 'comments in tests', kind: 'prose', files: tests, textOf: comments, tests: true },
  { name: 'the code of tests', kind: 'code', files: tests, textOf: code, tests: true },
  {
    name: 'descriptions of the schema',
    kind: 'prose',
    files: ['docs/schema.graphql', 'docs/platform-actions.md'],
    textOf: (content) => content,
  },
  {
    name: 'the texts of the dashboard',
    kind: 'text',
    // Each catalogue has every text; its names are the English ones.
    files: ['web/src/texts/de.json'],
    textOf: sayings,
  },
  { name: 'what the commands say', kind: 'text', files: sourcesOf('cli'), textOf: quotedIn },
  {
    name: 'what mails, Slack and the pages of links say',
    kind: 'text',
    files: [
      'src/api/http/link-pages.ts',
      'src/domain/followers/choices.ts',
      'src/domain/followers/slack/blocks.ts',
      'src/domain/followers/slack/modals.ts',
      'src/domain/followers/webhooks/decide-by-link.ts',
      'src/domain/followers/webhooks/mail-text.ts',
    ],
    textOf: quotedIn,
  },
]

/** `file:line "found": instead` for every place where a rule finds something. */
function findings(rule: WordRule, file: string, text: string): string[] {
  const searched = (rule.except ?? []).reduce((all, { pattern }) => all.replace(pattern, blank), text)
  const pattern = new RegExp(rule.pattern.source, `${rule.pattern.flags.replace('g', '')}g`)
  return [...searched.matchAll(pattern)].map((match) => {
    const line = searched.slice(0, match.index).split('\n').length
    return `${file}:${line} "${match[0]}": ${rule.instead}`
  })
}

test.each(rules)('the rule $pattern finds what it is for, and leaves ordinary words alone', (rule) => {
  expect(rule.instead).not.toBe('')
  for (const text of rule.finds) expect(findings(rule, 'example', text), text).not.toEqual([])
  for (const text of rule.allows ?? []) expect(findings(rule, 'example', text), text).toEqual([])
  for (const { reason } of rule.except ?? []) expect(reason).not.toBe('')
})

test.each(fileSets)('$name say it in the words of the field', ({ kind, files, textOf, tests: only }) => {
  expect(files.length).toBeGreaterThan(0)
  const texts = files.map((file) => ({ file, text: textOf(read(file)) }))
  const held = rules.filter(
    (rule) => (rule.kinds ?? ['prose', 'code']).includes(kind) && (!only || rule.tests),
  )
  expect(held.flatMap((rule) => texts.flatMap(({ file, text }) => findings(rule, file, text)))).toEqual([])
})
