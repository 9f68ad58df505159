/** Prices of models in GraphQL. */
import { deleteModelPrice, setModelPrice, type ModelPrice } from '../../../domain/models/index.ts'
import { addMutation } from '../builder/mutation.ts'
import type { Refs } from '../builder/refs.ts'

export type ModelPriceRef = ReturnType<typeof addModelPrices>

const rateOf = (what: string) => `The price in USD for a million tokens that ${what}.`
const read = rateOf('the model reads')
const cached = rateOf('the provider reads from its cache')
const written = rateOf('the model writes')
const modelName = 'The model as provider/model, as steps and attempts name it.'

export function addModelPrices(refs: Refs) {
  const { builder } = refs
  const Source = builder.enumType('ModelPriceSource', {
    description: 'The origin of the price of a model.',
    values: {
      LIST: { description: 'The price is on the list of vendors that Gatehouse has.' },
      PROJECT: { description: 'The price was set for the project.' },
    } as const,
  })
  const Price = builder.objectRef<ModelPrice>('ModelPrice').implement({
    description: 'The price of one model in a project.',
    fields: (t) => ({
      model: t.exposeString('model', { description: modelName }),
      input: t.exposeFloat('input', { description: read }),
      cachedInput: t.exposeFloat('cachedInput', { description: cached }),
      output: t.exposeFloat('output', { description: written }),
      source: t.expose('source', { type: Source, description: 'The origin of the price.' }),
      listedAt: t.exposeString('listedAt', {
        nullable: true,
        description: 'The day of the list as YYYY-MM-DD; null for a price of the project.',
      }),
    }),
  })
  addMutation(refs, {
    name: 'setModelPrice',
    description:
      'Sets the price of a model in a project, for figures of the past too. Idempotent. Permission: providers:Set.',
    input: builder.inputType('SetModelPriceInput', {
      description: 'The price of a model, at most 1,000,000 USD for a million tokens.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        model: t.string({ required: true, description: modelName }),
        input: t.float({ required: true, description: read }),
        cachedInput: t.float({ description: `${cached} Default: the price of tokens that the model reads.` }),
        output: t.float({ required: true, description: written }),
      }),
    }),
    payload: builder.objectRef<{ price: ModelPrice }>('SetModelPricePayload').implement({
      description: 'The price that was set.',
      fields: (t) => ({
        price: t.expose('price', { type: Price, description: 'The price that was set.' }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError', 'LimitReachedError'],
    run: async (ctx, input) => ({ price: await setModelPrice(ctx, input) }),
  })
  addMutation(refs, {
    name: 'deleteModelPrice',
    description:
      'Deletes the price that was set for a model: its list price counts again, or it has none. Idempotent. Permission: ' +
      'providers:Set.',
    input: builder.inputType('DeleteModelPriceInput', {
      description: 'The model whose price to delete.',
      fields: (t) => ({
        projectId: t.id({ description: 'The id of the project. Default: the project of the API key.' }),
        model: t.string({ required: true, description: modelName }),
      }),
    }),
    payload: builder.objectRef<{ deleted: boolean }>('DeleteModelPricePayload').implement({
      description: 'The result of the deletion.',
      fields: (t) => ({
        deleted: t.exposeBoolean('deleted', {
          description: 'Whether the project had a price for the model.',
        }),
      }),
    }),
    errors: ['ValidationError', 'NotFoundError'],
    run: async (ctx, input) => ({ deleted: await deleteModelPrice(ctx, input) }),
  })
  return Price
}
