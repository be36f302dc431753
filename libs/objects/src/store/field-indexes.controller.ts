import { Controller, type Type } from '@nestjs/common';
import type { FieldIndexesRpc, RpcData, RpcReply } from '#contracts';
import { RpcHandler } from '#messaging';
import { FieldIndexes } from './field-indexes.js';
import { SlowQueries } from './slow-queries.js';

/** A controller that serves operators for one service. */
export function fieldIndexesRpcController(contract: FieldIndexesRpc): Type {
  @Controller()
  class FieldIndexesController {
    constructor(
      private readonly indexes: FieldIndexes,
      private readonly questions: SlowQueries,
    ) {}

    @RpcHandler(contract.add)
    async add(key: RpcData<FieldIndexesRpc['add']>): Promise<RpcReply<FieldIndexesRpc['add']>> {
      await this.indexes.add(key);
      return {};
    }

    @RpcHandler(contract.list)
    async list({ appId }: RpcData<FieldIndexesRpc['list']>): Promise<RpcReply<FieldIndexesRpc['list']>> {
      return { indexes: await this.indexes.report(appId) };
    }

    @RpcHandler(contract.remove)
    async remove(key: RpcData<FieldIndexesRpc['remove']>): Promise<RpcReply<FieldIndexesRpc['remove']>> {
      await this.indexes.remove(key);
      return {};
    }

    @RpcHandler(contract.listSlowQuestions)
    async listSlowQuestions({
      appId,
    }: RpcData<FieldIndexesRpc['listSlowQuestions']>): Promise<RpcReply<FieldIndexesRpc['listSlowQuestions']>> {
      const [questions, indexes] = [await this.questions.report(appId), await this.indexes.report(appId)];
      const names = new Set(indexes.map(({ className, fields }) => [className, ...fields].join(' ')));
      return {
        questions: questions.map((question) => ({
          ...question,
          isIndexed: names.has([question.className, ...question.fields].join(' ')),
        })),
      };
    }
  }
  return FieldIndexesController;
}
