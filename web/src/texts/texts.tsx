/** The texts of the page in the language of its reader. The English text is the key; each other language has a file. */
import { createElement, Fragment, type ReactNode } from 'react'

/** The languages, each by its own name. English has no file: its texts stand in the code. */
export const languages = { en: 'English', de: 'Deutsch' }
export type Language = keyof typeof languages

/** Texts by their English text; what has a count has a text for each form of Intl.PluralRules. */
type Catalogue = Record<string, string | Partial<Record<Intl.LDMLPluralRule, string>>>

type Load = () => Promise<{ default: Catalogue }>
/** A catalogue is read in two parts: what the first page needs, and the texts of the other screens. */
const files: Partial<Record<Language, { first: Load; rest: Load }>> = {
  de: { first: () => import('./de.json?first'), rest: () => import('./de.json?rest') },
}

/** Where the choice is kept, in the state of the address: it goes with the tab, and nothing is stored. */
const stateKey = 'gatehouse-language'

const isLanguage = (name: unknown): name is Language =>
  typeof name === 'string' && Object.hasOwn(languages, name)

/** The choice of this tab, else the first language of the browser that there is. Tests of parts have no browser. */
function languageOf({ history, navigator }: Partial<Window>): Language {
  const chosen: unknown = history?.state?.[stateKey]
  if (isLanguage(chosen)) return chosen
  return navigator?.languages.map((name) => name.split('-')[0]).find(isLanguage) ?? 'en'
}

export const language = languageOf(globalThis as unknown as Partial<Window>)

/** For Intl. English is that of Britain: the day before the month, and 24 hours. */
export const locale = language === 'en' ? 'en-GB' : language

const texts: Catalogue = {}

/** A part that cannot be read leaves its texts in English. */
async function read(load: Load | undefined): Promise<void> {
  Object.assign(texts, (await load?.().catch(() => null))?.default)
}

// Whatever imports this runs with its texts there, also what is at the top of a module.
await read(files[language]?.first)

let rest: Promise<void> | undefined
/** Resolves with the texts of the other screens there: what loads such a screen waits for it. */
export const restOfTexts = (): Promise<void> => (rest ??= read(files[language]?.rest))

const keep = (chosen: Language) => history.replaceState({ ...history.state, [stateKey]: chosen }, '')

/** Opens the page in another language. */
export function chooseLanguage(next: Language): void {
  keep(next)
  location.reload()
}

// The choice goes along to other addresses: the router tells of them with these events.
if (globalThis.history?.state?.[stateKey])
  for (const change of ['pushState', 'replaceState'])
    addEventListener(change, () => history.state?.[stateKey] ?? keep(language))

type Names<Text extends string> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Names<Rest>
  : never
type Values<Name extends string> = [Name] extends [never] ? [] : [values: Record<Name, string | number>]

const numbers = new Intl.NumberFormat(locale)
/** A number as it is written in the language. */
export const numberText = (value: number): string => numbers.format(value)

const placeholder = /\{(\w+)\}/

const filled = (text: string, values: Record<string, string | number> = {}): string =>
  text
    .split(placeholder)
    .map((part, at) => {
      const value = at % 2 === 1 ? values[part] : part
      return typeof value === 'number' ? numberText(value) : value
    })
    .join('')

const textOf = (text: string): string => {
  const own = texts[text]
  return typeof own === 'string' ? own : text.split('|', 1)[0]!
}

/**
 * The text in the language of the reader; a number is written as it is there. `text` is written out: a test finds it. What
 * follows a bar is not shown: it tells apart what is the same in English only, such as `Call|verb`.
 */
export function t<const Text extends string>(text: Text, ...[values]: Values<Names<Text>>): string {
  return filled(textOf(text), values)
}

const rules = new Intl.PluralRules(locale)

/** A text about a count, which stands in it as `{count}` or not at all. */
export function plural<const One extends string, const Other extends string>(
  count: number,
  one: One,
  other: Other,
  ...[values]: Values<Exclude<Names<One | Other>, 'count'>>
): string {
  const own = texts[other]
  const forms = typeof own === 'object' ? own : { one, other }
  return filled(forms[rules.select(count)] ?? other, { ...values, count })
}

/** A text with elements in it: `<T text="Waiting for {who}" who={<b>Ann</b>} />`. */
export function T<const Text extends string>({
  text,
  ...values
}: { text: Text } & Record<Names<Text>, ReactNode>): ReactNode {
  const parts = textOf(text).split(placeholder)
  const nodes = parts.map((part, at) => {
    const node = at % 2 === 1 ? (values as Record<string, ReactNode>)[part] : part
    return typeof node === 'number' ? numberText(node) : node
  })
  return createElement(Fragment, null, ...nodes)
}
