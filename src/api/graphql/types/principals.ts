/** Who did something: an object beside each id of a principal. */
import { principalKinds } from '../../../domain/access/index.ts'
import { described } from '../builder/described.ts'
import type { GraphQLContext } from '../builder/context.ts'
import type { Refs } from '../builder/refs.ts'

export type PrincipalKindEnum = ReturnType<typeof addPrincipals>

/** Implements Principal and adds the fields that have one; returns the enum of its kinds. */
export function addPrincipals(refs: Refs) {
  const { builder } = refs
  const Kind = builder.enumType('PrincipalKind', {
    description: 'The kind of a principal.',
    values: described(principalKinds, {
      API_KEY: 'The principal has an API key, or a session that was opened with one.',
      PERSON: 'An identity provider (OIDC) authenticated the principal, as a person or a program.',
      SYSTEM: 'The server acted by itself.',
    }),
  })
  refs.Principal.implement({
    description: 'An API key, a person or the server itself, as the one that did something.',
    interfaces: [builder.nodeInterfaceRef()],
    isTypeOf: (value) =>
      typeof value === 'object' &&
      value !== null &&
      'kind' in value &&
      principalKinds.some((kind) => kind === value.kind),
    fields: (t) => ({
      id: t.exposeID('id', {
        description: 'The id of the principal: key_… of an API key, usr_… of a person, or "system".',
      }),
      name: t.exposeString('name', {
        nullable: true,
        description:
          'The name of the API key or person as it is now; null for the server, and when the principal was deleted, ' +
          'is of another project or is hidden from the caller, who needs the permission keys:Get.',
      }),
      kind: t.expose('kind', { type: Kind, description: 'The kind of the principal.' }),
    }),
  })
  addFields(refs)
  return Kind
}

/** The options of a field that shows the principal with an id of its object. */
export function principalField<Row>(refs: Refs, pick: (row: Row) => string, description: string) {
  return {
    type: refs.Principal,
    description,
    resolve: (row: Row, _args: object, { loaders }: GraphQLContext) => loaders.principals.load(pick(row)),
  }
}

/** The same for an id that may be null. */
export function optionalPrincipal<Row>(refs: Refs, pick: (row: Row) => string | null, description: string) {
  return {
    type: refs.Principal,
    nullable: true as const,
    description,
    resolve: (row: Row, _args: object, { loaders }: GraphQLContext) => {
      const id = pick(row)
      return id === null ? null : loaders.principals.load(id)
    },
  }
}

function addFields(refs: Refs): void {
  const { builder } = refs
  builder.objectField(refs.Generation, 'requester', (t) =>
    t.field(principalField(refs, (row) => row.requestedBy, 'The principal that started the generation.')),
  )
  builder.objectFields(refs.ToolCall, (t) => ({
    requester: t.field(
      principalField(refs, (row) => row.requestedBy, 'The principal that requested the call.'),
    ),
    resolver: t.field(
      optionalPrincipal(
        refs,
        (row) => row.resolvedBy,
        'The principal that resolved the call with resolveUnknownCall; null when none did.',
      ),
    ),
  }))
  builder.objectField(refs.Approval, 'requester', (t) =>
    t.field(principalField(refs, (row) => row.requestedBy, 'The principal for whom the call is made.')),
  )
  builder.objectFields(refs.Grant, (t) => ({
    requester: t.field(
      optionalPrincipal(
        refs,
        (row) => row.requestedBy,
        'The principal whose calls the grant lets pass; null when the grant is for an agent or thread.',
      ),
    ),
    granter: t.field(principalField(refs, (row) => row.grantedBy, 'The principal that gave the verdict.')),
    revoker: t.field(
      optionalPrincipal(
        refs,
        (row) => row.revokedBy,
        'The principal that revoked the grant; null when it was not revoked.',
      ),
    ),
  }))
  builder.objectFields(refs.GateChange, (t) => ({
    proposer: t.field(
      principalField(refs, (row) => row.proposedBy, 'The principal that proposed the change.'),
    ),
    decider: t.field(
      optionalPrincipal(
        refs,
        (row) => row.decidedBy,
        'The principal that confirmed or rejected the change; null while it is pending.',
      ),
    ),
  }))
  addCreators(refs)
  builder.objectField(refs.Session, 'principal', (t) =>
    t.field(principalField(refs, (row) => row.principalId, 'The principal that signed in.')),
  )
  builder.objectField(refs.AuditEntry, 'principal', (t) =>
    t.field(principalField(refs, (row) => row.principalId, 'The principal that acted.')),
  )
}

function addCreators(refs: Refs): void {
  const { builder } = refs
  builder.objectField(refs.ApiKey, 'joinedBy', (t) =>
    t.field(
      optionalPrincipal(
        refs,
        (row) => row.joinedBy,
        'The person who accepted the invitation with an account of the identity provider, and uses the API key by ' +
          'signing in; null for any other API key.',
      ),
    ),
  )
  builder.objectField(refs.ApiKey, 'creator', (t) =>
    t.field(
      optionalPrincipal(
        refs,
        (row) => row.createdBy,
        'The principal that created the API key; null for the first key of the installation.',
      ),
    ),
  )
  builder.objectField(refs.File, 'creator', (t) =>
    t.field(principalField(refs, (row) => row.createdBy, 'The principal that created the file.')),
  )
  builder.objectField(refs.Webhook, 'creator', (t) =>
    t.field(principalField(refs, (row) => row.createdBy, 'The principal that created the webhook.')),
  )
}
