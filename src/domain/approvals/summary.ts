/** What a call does, as one sentence for people: the title of its gate, filled in, or its name and first arguments. Pure. */
import { isJsonNumber, writeJson, type Json, type JsonObject } from '../../core/json.ts'
import { oneLine } from '../../core/one-line.ts'
import { titleParts } from '../gates/index.ts'
import { shownArguments, type Approval } from './approval.ts'

/** A piece of the sentence; of a value that came with the call, or of words that the tool's owner chose. */
export interface CallSummaryPart {
  text: string
  isValue: boolean
}

export interface CallSummary {
  text: string
  parts: CallSummaryPart[]
}

/** The longest value or name in a sentence, in UTF-16 code units. */
const maxValue = 80
const maxName = 200
/** The arguments of the sentence without a title. */
const maxArguments = 3

/** The approval as far as its sentence is concerned. */
export type Summarised = Pick<
  Approval,
  'arguments' | 'editedArguments' | 'masked' | 'question' | 'runtimeName'
>

/** The sentence about the call as it would run now. Masked values are `[masked]` in it, or left out. */
export function summaryOf(approval: Summarised): CallSummary {
  const parts = ofTitle(approval) ?? byDefault(approval)
  return { text: parts.map(({ text }) => text).join(''), parts }
}

/** Null without a title, and when an argument that it names is not given. */
function ofTitle(approval: Summarised): CallSummaryPart[] | null {
  const template = titleParts(approval.question?.titleTemplate ?? '') ?? []
  if (template.length === 0) return null
  const values = shownArguments(approval)
  const parts = template.map((part) => {
    if ('text' in part) return wordsOf(part.text)
    return Object.hasOwn(values, part.name) ? valueOf(values[part.name]!) : null
  })
  return parts.some((part) => part === null) ? null : (parts as CallSummaryPart[])
}

function byDefault(approval: Summarised): CallSummaryPart[] {
  const { question, masked, runtimeName } = approval
  const values = shownArguments(approval)
  const hidden = new Set((masked ?? []).flatMap((path) => (path.length === 1 ? path : [])))
  const scalars = requiredFirst(values, question?.inputSchema)
    .filter((name) => !hidden.has(name) && isScalar(values[name]!))
    .slice(0, maxArguments)
  const named = scalars.flatMap((name, at) => [
    { text: `${at === 0 ? ': ' : ', '}${oneLine(name, maxValue)} `, isValue: false },
    valueOf(values[name]!),
  ])
  return [{ text: oneLine(question?.title ?? runtimeName, maxName), isValue: false }, ...named]
}

/** Required arguments in the order of the schema, then the others in theirs. */
function requiredFirst(values: JsonObject, schema: JsonObject | undefined): string[] {
  const required = Array.isArray(schema?.['required']) ? schema['required'].map(String) : []
  const first = required.filter((name) => Object.hasOwn(values, name))
  return [...new Set([...first, ...Object.keys(values)])]
}

function isScalar(value: Json): boolean {
  return typeof value !== 'object' || isJsonNumber(value)
}

function valueOf(value: Json): CallSummaryPart {
  const text = oneLine(typeof value === 'string' ? value : writeJson(value), maxValue)
  return { text: text === '' ? '""' : text, isValue: true }
}

/** The words of a template keep the spaces at their ends. */
function wordsOf(words: string): CallSummaryPart {
  const [, before, text, after] = /^(\s*)(.*?)(\s*)$/su.exec(words)!
  const space = (around: string) => (around === '' ? '' : ' ')
  return { text: `${space(before!)}${oneLine(text!, maxName)}${space(after!)}`, isValue: false }
}
