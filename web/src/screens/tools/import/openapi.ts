/** An OpenAPI document as a list of operations, each with a name that a tool may have. Pure. */
import { isObject, readForeignJson } from '../../../../../src/core/exact-json.ts'
import type { Schema } from '../../../parts/schema-form-resolve.ts'
import { methods, type ToolDraft } from '../tool-draft.ts'
import { t } from '../../../texts/texts.tsx'

type Method = ToolDraft['method']

export interface Operation {
  /** Valid for a tool, and unique in the document. */
  name: string
  method: Method
  path: string
  summary: string
  description: string
  /** What the operation says, and the parameters that its path has in common. Not resolved yet. */
  raw: Schema
  shared: readonly unknown[]
  /** An address of its own, in place of that of the document. */
  server: string | null
}

/** How requests are signed in: where a secret is to stand. */
export interface Login {
  in: 'header' | 'query'
  name: string
  /** What stands in front of the secret. */
  prefix: string
}

export interface Api {
  title: string
  /** Where the operations are; null: the document names no absolute address. */
  server: string | null
  /** What the document says instead, such as /v1. */
  serverPath: string
  login: Login | null
  operations: Operation[]
  /** Operations that a tool cannot be made of, a sentence each, at most 20. */
  leftOut: string[]
  /** The whole document, which references point into. */
  root: Schema
}

/** The most text that is read, in characters, and the most operations. */
const longest = 20_000_000
const mostOperations = 5000
const mostSentences = 20

/** The operations of a document, or why there are none. */
export function apiOf(text: string): Api | { why: string } {
  if (text.length > longest) return { why: t('The document is longer than 20 million characters.') }
  const root = parsed(text)
  if (typeof root === 'string') return { why: root }
  const { openapi, swagger, paths } = root
  if (typeof swagger === 'string')
    return { why: t('This is Swagger {version}: convert it to OpenAPI 3 first.', { version: swagger }) }
  if (typeof openapi !== 'string' || !/^3\.[01]\./.test(`${openapi}.`))
    return { why: t('This is no OpenAPI document of version 3.0 or 3.1.') }
  if (!isObject(paths)) return { why: t('The document has no paths.') }
  const found = operationsOf(paths)
  if (found.operations.length === 0)
    return { why: t('The document has no operations that a tool can be made of.') }
  const { url, path } = serverOf(root['servers'])
  const info = isObject(root['info']) ? root['info'] : {}
  return {
    title: textOf(info['title']) || t('An API without a title'),
    server: url,
    serverPath: path,
    login: loginOf(root),
    root,
    ...found,
  }
}

function parsed(text: string): Schema | string {
  try {
    const root: unknown = readForeignJson(text)
    return isObject(root) ? root : t('The document is not a JSON object.')
  } catch (error) {
    if (/^\s*(openapi|swagger|info|---|#|%YAML)/i.test(text))
      return t('This is YAML; only JSON is read. Convert it to JSON first.')
    return t('This is not JSON: {value}', { value: error instanceof Error ? error.message : String(error) })
  }
}

function operationsOf(paths: Schema): Pick<Api, 'operations' | 'leftOut'> {
  const operations: Operation[] = []
  const leftOut: string[] = []
  const names = new Set<string>()
  const tell = (sentence: string) => {
    if (leftOut.length < mostSentences) leftOut.push(sentence)
  }
  for (const [path, item] of Object.entries(paths)) {
    if (!isObject(item) || !path.startsWith('/')) continue
    if (typeof item['$ref'] === 'string') {
      tell(
        t('{path} is left out: it refers to another place, {ref}.', {
          path,
          ref: item['$ref'].slice(0, 100),
        }),
      )
      continue
    }
    for (const [word, raw] of Object.entries(item)) {
      if (
        !isObject(raw) ||
        !['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'].includes(word)
      )
        continue
      const method = methods.find((one) => one === word.toUpperCase())
      if (!method)
        tell(
          t('{method} {path} is left out: a tool cannot use this method.', {
            method: word.toUpperCase(),
            path,
          }),
        )
      else if (operations.length === mostOperations) tell(t('Only the first 5,000 operations are read.'))
      else
        operations.push({
          name: uniqueName(textOf(raw['operationId']) || `${word}_${path.slice(1)}`, names),
          method,
          path,
          summary: textOf(raw['summary']),
          description: textOf(raw['description']),
          raw,
          shared: Array.isArray(item['parameters']) ? (item['parameters'] as unknown[]) : [],
          server: serverOf(raw['servers']).url ?? serverOf(item['servers']).url,
        })
    }
  }
  return { operations, leftOut: [...new Set(leftOut)] }
}

/** A name of at most 64 characters that a tool may have, and no other one has. */
function uniqueName(wanted: string, taken: Set<string>): string {
  const plain = wanted
    .normalize('NFKD')
    .replaceAll(/[^a-zA-Z0-9_-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  const base = (/^[a-zA-Z_]/.test(plain) ? plain : `_${plain}`).slice(0, 64)
  let name = base
  for (let n = 2; taken.has(name.toLowerCase()); n++) name = `${base.slice(0, 64 - `_${n}`.length)}_${n}`
  taken.add(name.toLowerCase())
  return name
}

/** The first address: absolute, or what it says instead. Variables have their default values. */
function serverOf(servers: unknown): { url: string | null; path: string } {
  const [first] = Array.isArray(servers) ? (servers as unknown[]) : []
  if (!isObject(first)) return { url: null, path: '' }
  const variables = isObject(first['variables']) ? first['variables'] : {}
  const url = textOf(first['url'])
    .replaceAll(/\{([^{}]+)\}/g, (all, name: string) => {
      const variable = variables[name]
      return isObject(variable) ? String(variable['default'] ?? all) : all
    })
    .replace(/\/+$/, '')
  return /^https?:\/\/[^/]/i.test(url) ? { url, path: '' } : { url: null, path: url }
}

/** The first way to sign in that a secret can stand for. */
function loginOf(root: Schema): Login | null {
  const components = isObject(root['components']) ? root['components'] : {}
  const schemes = isObject(components['securitySchemes']) ? components['securitySchemes'] : {}
  for (const scheme of Object.values(schemes)) {
    if (!isObject(scheme)) continue
    const { type, name } = scheme
    if (
      type === 'apiKey' &&
      typeof name === 'string' &&
      (scheme['in'] === 'header' || scheme['in'] === 'query')
    )
      return { in: scheme['in'], name, prefix: '' }
    if (type === 'oauth2' || type === 'openIdConnect')
      return { in: 'header', name: 'Authorization', prefix: 'Bearer ' }
    if (type === 'http') {
      const isBasic = textOf(scheme['scheme']).toLowerCase() === 'basic'
      return { in: 'header', name: 'Authorization', prefix: isBasic ? 'Basic ' : 'Bearer ' }
    }
  }
  return null
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value.trim() : '')
