/** The events of secrets, model providers and files as GraphQL objects. */
import type { EventType } from '../../domain/events/index.ts'
import type { EventObject } from './event-fields.ts'

type ResourceType = Extract<EventType, `SECRET_${string}` | `PROVIDER_${string}` | `FILE_${string}`>

export const resourceEvents: { [Type in ResourceType]: EventObject<Type> } = {
  SECRET_SET: {
    description: 'A secret was created, or its value or hosts were replaced. The event never has a value.',
    fields: (t, f) => ({ name: f.resourceName(t) }),
  },
  SECRET_DELETED: {
    description: 'A secret was deleted.',
    fields: (t, f) => ({ name: f.resourceName(t) }),
  },
  PROVIDER_SET: {
    description: 'A model provider was created or replaced.',
    fields: (t, f) => ({ name: f.resourceName(t) }),
  },
  PROVIDER_DELETED: {
    description: 'A model provider was deleted.',
    fields: (t, f) => ({ name: f.resourceName(t) }),
  },
  FILE_CREATED: {
    description: 'A file was announced; an upload of its bytes may follow.',
    fields: (t, f) => ({ fileId: f.fileId(t), name: f.fileName(t) }),
  },
  FILE_UPLOADED: {
    description: 'The bytes of a file were uploaded.',
    fields: (t, f) => ({ fileId: f.fileId(t), name: f.fileName(t) }),
  },
  FILE_DELETED: {
    description: 'A file was deleted.',
    fields: (t, f) => ({ fileId: f.fileId(t), name: f.fileName(t) }),
  },
}
