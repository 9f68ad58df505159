/** Every link from one document to another leads somewhere. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { documents, generated, read, root } from './documents.ts'

interface Link {
  /** The document that it stands in. */
  from: string
  target: string
}

/** Code is not searched: a link in an example is text. */
const withoutCode = (markdown: string) =>
  markdown.replace(/^```[\s\S]*?^```$/gm, '').replace(/`[^`\n]*`/g, '')

const linksOf = (from: string): Link[] =>
  [...withoutCode(read(from)).matchAll(/\]\(([^)\s]+)\)/g)]
    .map((match) => ({ from, target: match[1]! }))
    .filter(({ target }) => !/^[a-z]+:/.test(target))

/** The anchors that a renderer gives to the headings of a document. */
function anchorsOf(file: string): string[] {
  const counts = new Map<string, number>()
  const titles = [
    ...read(file)
      .replace(/^```[\s\S]*?^```$/gm, '')
      .matchAll(/^#{1,6} (.+)$/gm),
  ]
  return titles.map((match) => {
    const anchor = match[1]!
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-')
    const seen = counts.get(anchor) ?? 0
    counts.set(anchor, seen + 1)
    return seen === 0 ? anchor : `${anchor}-${seen}`
  })
}

/** Why a link leads nowhere; null when it leads somewhere. */
function fault({ from, target }: Link): string | null {
  const [path, anchor] = target.split('#') as [string, string | undefined]
  const file = path === '' ? from : normalize(join(dirname(from), path))
  if (!existsSync(join(root, file))) return `${from}: ${target} does not exist`
  if (anchor === undefined) return null
  if (statSync(join(root, file)).isDirectory() || !anchorsOf(file).includes(anchor))
    return `${from}: ${target} has no such heading`
  return null
}

const links = [...documents, ...generated.filter((path) => path.endsWith('.md'))].flatMap(linksOf)

test('every relative link leads to a file, and to a heading where it names one', () => {
  expect(links.length).toBeGreaterThan(60)
  expect(links.map(fault).filter(Boolean)).toEqual([])
})

test('every document can be reached from README', () => {
  const reached = new Set<string>(['README.md'])
  for (const file of reached)
    for (const { target } of linksOf(file)) {
      const path = normalize(join(dirname(file), target.split('#')[0]!))
      if (path.endsWith('.md') && existsSync(join(root, path))) reached.add(path)
    }
  const lost = [...documents, ...generated].filter((path) => path.endsWith('.md') && !reached.has(path))
  expect(lost).toEqual([])
})

test('every file that a document names by its path exists', () => {
  const named = documents.flatMap((from) =>
    [...read(from).matchAll(/`((?:src|test|docs|bench|tools|migrations)\/[\w./-]+\.\w+)`/g)].map((match) => ({
      from,
      path: match[1]!,
    })),
  )
  expect(named.length).toBeGreaterThan(8)
  expect(named.filter(({ path }) => !existsSync(join(root, path)))).toEqual([])
})

test('every adversary that the threat model names is a test', () => {
  const rows = [...read('docs/guides/security.md').matchAll(/^\|.*\| ((?:`[a-z-]+`(?:, )?)+) \|$/gm)]
  const names = rows.flatMap((row) => [...row[1]!.matchAll(/`([a-z-]+)`/g)].map((match) => match[1]!))
  expect(names.length).toBeGreaterThan(15)
  const missing = names.filter((name) => !existsSync(join(root, `test/adversary/${name}.test.ts`)))
  expect(missing).toEqual([])
})

test('every picture is shown by a document', () => {
  const pictures = readdirSync(join(root, 'docs/guides/pictures'))
  expect(pictures.length).toBeGreaterThan(0)
  const shown = new Set(links.map(({ from, target }) => normalize(join(dirname(from), target))))
  expect(pictures.filter((name) => !shown.has(join('docs/guides/pictures', name)))).toEqual([])
})
