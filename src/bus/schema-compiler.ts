/**
 * Schema compiler: Ajv, loaded when the first schema needs it and not before (it takes 50 to 90 ms to load).
 *
 * Formats are annotations, as 2020-12 has it. Unknown keywords are ignored: devices have their own. References are not
 * inlined, so that the code grows no faster than the schema.
 */
import { createRequire } from 'node:module'
import type { Ajv2020, Options, ValidateFunction } from 'ajv/dist/2020.js'
import { readErrorMessage } from '../core/thrown-error.ts'
import type { JsonSchema } from './capability.ts'
import { compileLengthLimitedRegExp } from './length-limited-regexp.ts'

const require = createRequire(import.meta.url)

const OPTIONS = {
  strict: false,
  validateSchema: false,
  validateFormats: false,
  inlineRefs: false,
  logger: false,
  code: { regExp: Object.assign(compileLengthLimitedRegExp, { code: 'new RegExp' }) },
} satisfies Options

/**
 * An Ajv instance keeps a little of everything that it ever compiled, and devices come and go for years, so instances
 * are replaced.
 */
const COMPILES_PER_INSTANCE = 1_000

/** The compiler itself could not be loaded: that says nothing about the schema, and may succeed later. */
export class SchemaCompilerMissingError extends Error {}

type Instances = { checker?: Ajv2020; fast?: Ajv2020; thorough?: Ajv2020 }

let instances: Instances = {}
let compiled = 0

/** What in the schema violates the meta-schema of 2020-12, or `undefined`. */
export function explainMetaSchemaViolation(schema: JsonSchema): string | undefined {
  const checker = (instances.checker ??= load({ ...OPTIONS, meta: true }))
  if (checker.validateSchema(anonymous(schema)) === true) return undefined
  return checker.errorsText(checker.errors, { dataVar: 'schema' })
}

/** `fast` stops at the first error; `thorough` finds them all and is for explaining a refusal. Throws if Ajv cannot. */
export function compileSchema(schema: JsonSchema, mode: 'fast' | 'thorough'): ValidateFunction {
  if (++compiled % COMPILES_PER_INSTANCE === 0) instances = {}
  const ajv = (instances[mode] ??= load({ ...OPTIONS, meta: false, allErrors: mode === 'thorough' }))
  const own = anonymous(schema)
  try {
    return ajv.compile(own)
  } finally {
    // Ajv would keep every schema for ever; schema-validation.ts keeps ours and decides when to drop them.
    ajv.removeSchema(own)
  }
}

/** Removes the names by which schemas of two devices could collide. */
function anonymous(schema: JsonSchema): JsonSchema {
  const { $schema: _dialect, $id: _name, ...rest } = schema
  return rest
}

function load(options: Options): Ajv2020 {
  let ajv: { readonly Ajv2020: new (options: Options) => Ajv2020 }
  try {
    ajv = require('ajv/dist/2020.js') as typeof ajv
  } catch (error) {
    throw new SchemaCompilerMissingError(`what checks schemas could not be loaded (${readErrorMessage(error)})`)
  }
  return new ajv.Ajv2020(options)
}
