/** Events of secrets. */
import { z } from 'zod'
import { withExample } from '../../core/shapes.ts'
import { event, projectOnly } from './define.ts'

const of = {
  log: projectOnly,
  group: 'resources',
  data: { name: withExample(z.string().describe('The name of the secret or model provider.'), 'KEY') },
} as const

export const secretSet = event('SECRET_SET', {
  ...of,
  about: 'A secret was created, or its value or hosts were replaced. The event never has a value.',
})
export const secretDeleted = event('SECRET_DELETED', { ...of, about: 'A secret was deleted.' })
