/** What the revocation of an API key would end, in GraphQL. */
import type { Revocation } from '../../../domain/access/index.ts'
import type { Refs } from '../builder/refs.ts'

export function addKeyRevocation({ builder }: Refs) {
  return builder.objectRef<Revocation>('KeyRevocation').implement({
    description: 'What would end with an API key.',
    fields: (t) => ({
      madeKeys: t.exposeInt('madeKeys', {
        description: 'The number of API keys that end with it, because they were created with it.',
      }),
      includesCaller: t.exposeBoolean('includesCaller', {
        description: 'Whether the API key of the caller ends: the key itself, or one created with it.',
      }),
      leavesNoAdmin: t.exposeBoolean('leavesNoAdmin', {
        description:
          'Whether the last API keys with the role ADMIN, or of an operator, are among those that end.',
      }),
    }),
  })
}
