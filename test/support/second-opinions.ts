/** Validators of JSON Schema that share nothing with the one that Gatehouse and the official clients use. */
import { Validator } from '@cfworker/json-schema'
import * as draft07 from '@hyperjump/json-schema/draft-07'
import * as draft2019 from '@hyperjump/json-schema/draft-2019-09'
import * as draft2020 from '@hyperjump/json-schema/draft-2020-12'

type Opinion = (value: unknown) => boolean

const drafts = [
  { match: /draft-07/, worker: '7', hyperjump: draft07, dialect: 'http://json-schema.org/draft-07/schema' },
  {
    match: /2019-09/,
    worker: '2019-09',
    hyperjump: draft2019,
    dialect: 'https://json-schema.org/draft/2019-09/schema',
  },
  {
    match: /(?:)/,
    worker: '2020-12',
    hyperjump: draft2020,
    dialect: 'https://json-schema.org/draft/2020-12/schema',
  },
] as const

let registered = 0

/** What each of them says of a value, by name. Rejects when one of them finds a fault in the schema. */
export async function secondOpinions(schema: object): Promise<Record<'cfworker' | 'hyperjump', Opinion>> {
  const { $schema: declared = '', ...rest } = schema as { $schema?: string }
  const { worker, hyperjump, dialect } = drafts.find(({ match }) => match.test(declared))!
  const first = new Validator(schema, worker)
  const address = `https://judge.test/${++registered}`
  hyperjump.registerSchema(rest as never, address, dialect)
  const second = await hyperjump.validate(address)
  hyperjump.unregisterSchema(address)
  return {
    cfworker: (value) => first.validate(value).valid,
    hyperjump: (value) => second(value as never).valid,
  }
}
