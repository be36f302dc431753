import { Controller, type Type } from '@nestjs/common';
import type { ImportObjectsReply, ImportObjectsRequest, ObjectImportRpc, RpcData, RpcReply } from '#contracts';
import type { Database } from '#database';
import { RpcHandler } from '#messaging';
import { plainImport } from './import-rules.js';
import { importHeap, ImportStatistics } from './import-upkeep.js';
import { ObjectImporter } from './object-importer.js';
import type { StoredClasses } from './stored-classes.js';

/** Objects of one transaction. With 500, logins beside the import took 1.9 times as long instead of 1.4 times. */
const PART_SIZE = 100;
/** Maximum number of batches that a later one can name: clients send the next one before the reply. */
const MAX_KNOWN_BATCHES = 100;
const NOT_DONE: ImportObjectsReply = { verdicts: [], released: [], isDone: false };

/** The importers of a service's classes. */
export class ObjectImports {
  private readonly statistics: ImportStatistics;
  /** Application and class of imports whose last batch was stored before: the next one probably was, too. */
  private readonly repeated = new Set<string>();
  /** By id, the latest batches: resolve to whether they succeeded. */
  private readonly batches = new Map<string, Promise<boolean>>();

  constructor(
    private readonly classes: StoredClasses,
    private readonly database: Database,
    private readonly limitBytes: number,
    private readonly partSize = PART_SIZE,
  ) {
    this.statistics = new ImportStatistics(database);
  }

  /** @throws AppError NOT_FOUND for a class that this service does not store; as `ObjectImporter.import` */
  import(request: ImportObjectsRequest): Promise<ImportObjectsReply> {
    const reply = this.importAfter(request);
    if (request.batchId !== undefined) this.remember(request.batchId, reply);
    return reply;
  }

  private remember(batchId: string, reply: Promise<ImportObjectsReply>): void {
    const [oldest] = this.batches.keys();
    if (oldest !== undefined && this.batches.size >= MAX_KNOWN_BATCHES) this.batches.delete(oldest);
    const outcome = reply.then(
      ({ isDone }) => isDone,
      () => false,
    );
    this.batches.set(batchId, outcome);
  }

  private async importAfter({ after, ...request }: ImportObjectsRequest): Promise<ImportObjectsReply> {
    if (after !== undefined && !(await this.batches.get(after))) return NOT_DONE;
    const { className } = request;
    const { objects, imports } = this.classes.of(className);
    const { database, limitBytes, partSize } = this;
    const rules = imports ?? plainImport(className, objects);
    importHeap.touch();
    const parts = { className, objects, database, limitBytes, partSize, rules };
    const key = `${request.appId} ${className}`;
    const importer = new ObjectImporter(parts, request, !this.repeated.has(key));
    const reply = await importer.import(request);
    if (importer.hasMetStored) this.repeated.add(key);
    else this.repeated.delete(key);
    if (!request.isPreview) await this.statistics.add([objects.table, ...(rules.tables ?? [])], writtenIn(reply));
    return reply;
  }
}

function writtenIn({ verdicts }: ImportObjectsReply): number {
  return verdicts.filter(({ outcome }) => outcome === 'imported' || outcome === 'imported_without').length;
}

/** A controller that imports the objects of one service. */
export function objectImportController(contract: ObjectImportRpc): Type {
  @Controller()
  class ObjectImportController {
    constructor(private readonly imports: ObjectImports) {}

    @RpcHandler(contract.importObjects)
    importObjects(
      request: RpcData<ObjectImportRpc['importObjects']>,
    ): Promise<RpcReply<ObjectImportRpc['importObjects']>> {
      return this.imports.import(request);
    }
  }
  return ObjectImportController;
}
