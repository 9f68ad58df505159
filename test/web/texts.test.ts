/** Every text of the page goes through the catalogues, and each catalogue has every text. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { namesIn, textsOf } from './texts.ts'

const src = join(import.meta.dirname, '../../web/src')
const read = (path: string) => readFileSync(join(src, path), 'utf8')
/** Where the forms of texts are made; it has no texts. */
const machinery = 'texts/texts.tsx'
const sources = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter((path) => /(?<!\.d)\.tsx?$/.test(path) && path !== machinery)
  .map((path) => ({ path, text: read(path) }))

type Form = Partial<Record<Intl.LDMLPluralRule, string>>
const catalogues = readdirSync(join(src, 'texts'))
  .filter((name) => name.endsWith('.json'))
  .map((name) => ({
    language: name.slice(0, -'.json'.length),
    texts: JSON.parse(read(`texts/${name}`)) as Record<string, string | Form>,
  }))

const { asked, untold } = textsOf(sources)
const ones = new Map(asked.map(({ text, one }) => [text, one]))

const planted = `
  const columns = ['Name', t('Made')]
  const words = { QUEUED: { shape: 'ring', word: 'queued' } }
  export const One = ({ at, n }) => (
    <p className="mute small" title="Copy it" aria-label={at ? t('Open') : 'Close'}>
      Hello <b>{n === 1 ? 'one' : t('many')}</b>
      {plural(n, '1 call', '{count} calls')} {\`Step \${at}\`}
      <T text="by {who}" who={<i>nobody</i>} />
      <Row empty={{ title: 'None yet', text: t(at) }} key={\`row \${at}\`} onClick={() => toast('Saved.')} />
    </p>
  )
`

test('the texts of a source are found, and those that go through no catalogue', () => {
  const found = textsOf([{ path: 'x.tsx', text: planted }])
  expect(found.asked.map(({ text, one }) => [text, one])).toEqual([
    ['Made', null],
    ['Open', null],
    ['many', null],
    ['{count} calls', '1 call'],
    ['by {who}', null],
  ])
  expect(found.untold.map((line) => line.replace(/^x\.tsx:\d+ /, ''))).toEqual([
    'Name',
    'queued',
    'Copy it',
    'Close',
    'Hello',
    'one',
    'Step {}',
    'nobody',
    'None yet',
    'is not written out: t(at)',
    'Saved.',
  ])
})

test('no text of the page goes past the catalogues', () => {
  expect(asked.length).toBeGreaterThan(1_000)
  expect(untold).toEqual([])
})

test('a text is about a count everywhere or nowhere, with one form for one', () => {
  expect(asked.filter(({ text, one }) => ones.get(text) !== one)).toEqual([])
})

describe.each(catalogues)('$language', ({ language, texts }) => {
  test('has every text of the page, and no other', () => {
    const own = new Set(Object.keys(texts))
    expect(asked.filter(({ text }) => !own.has(text))).toEqual([])
    expect([...own].filter((text) => !ones.has(text))).toEqual([])
  })

  test('has one text for each, and of a count one for each plural form', () => {
    const forms = new Intl.PluralRules(language).resolvedOptions().pluralCategories.toSorted()
    const wrong = Object.entries(texts).filter(([text, own]) =>
      typeof ones.get(text) === 'string'
        ? typeof own === 'string' || Object.keys(own).toSorted().join() !== forms.join()
        : typeof own !== 'string' || own.trim() === '',
    )
    expect(wrong).toEqual([])
  })

  test('has the same placeholders; the count may stand in the words', () => {
    const wrong = Object.entries(texts).filter(([text, own]) => {
      if (typeof own === 'string') return namesIn(own).join() !== namesIn(text).join()
      const namesOf = (form: string) => namesIn(form).filter((name) => name !== 'count')
      return Object.entries(own).some(([form, words]) => {
        const english = form === 'one' ? (ones.get(text) ?? text) : text
        return (
          namesOf(words).join() !== namesOf(english).join() || (form !== 'one' && !sameCount(words, english))
        )
      })
    })
    expect(wrong).toEqual([])
  })
})

const sameCount = (words: string, english: string) =>
  namesIn(words).includes('count') === namesIn(english).includes('count')
